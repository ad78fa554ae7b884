import HTTPTypes
import Logging
import NIOCore
import NIOHTTPTypes

/// Answers requests of a connection of HTTP/1 on its event loop, if ``PromptAnswers`` can do so without waiting. Every
/// other request goes on to the task of the connection, and so do all that come before its response has ended.
package final class PromptHandler: ChannelDuplexHandler, RemovableChannelHandler {
  package typealias InboundIn = HTTPRequestPart
  package typealias InboundOut = HTTPRequestPart
  package typealias OutboundIn = HTTPResponsePart
  package typealias OutboundOut = HTTPResponsePart

  private let answers: PromptAnswers
  /// The handler that closes idle connections sees only requests that go on; this is the longest time between two of
  /// them.
  private let longWayEvery: Duration
  private var lastLongWay = ContinuousClock.now
  /// `nil` on a stream of HTTP/2, each of which has a task anyway.
  private var common: ConnectionContext?
  /// The head of a request without a body whose end has not come.
  private var held: HTTPRequest?
  /// The requests that went on, and whose responses have not ended.
  private var underWay = 0
  private var isUnflushed = false

  /// - Parameter idle: the time after which an idle connection is closed.
  package init(_ answers: PromptAnswers, idle: Duration) {
    self.answers = answers
    longWayEvery = idle / 4
  }

  package func handlerAdded(context: ChannelHandlerContext) {
    // A stream has no such handler.
    guard let connection = try? context.pipeline.syncOperations.handler(type: ConnectionHandler.self) else { return }
    common = connection.common
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      if underWay == 0, PromptAnswers.mayAnswer(head) {
        held = head
        return
      }
      underWay += 1
    case .body: passOnHead(context)
    case .end(let trailers):
      if let head = held, trailers == nil, answer(head, context) {
        held = nil
        return
      }
      passOnHead(context)
    }
    context.fireChannelRead(data)
  }

  package func channelReadComplete(context: ChannelHandlerContext) {
    if isUnflushed {
      isUnflushed = false
      context.flush()
    }
    context.fireChannelReadComplete()
  }

  package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .end = unwrapOutboundIn(data) { underWay -= 1 }
    context.write(data, promise: promise)
  }

  private func passOnHead(_ context: ChannelHandlerContext) {
    guard let head = held else { return }
    held = nil
    underWay += 1
    lastLongWay = .now
    context.fireChannelRead(wrapInboundOut(.head(head)))
  }

  private func answer(_ head: HTTPRequest, _ context: ChannelHandlerContext) -> Bool {
    let started = ContinuousClock.now
    guard let common, started - lastLongWay < longWayEvery, context.channel.isWritable else { return false }
    let channel = common.context(of: context.channel)
    guard !channel.hasLast,
      let answer = answers.answer(
        to: head, since: started, address: common.address, replay: channel.replay, disconnection: channel.disconnection)
    else { return false }
    context.write(wrapOutboundOut(.head(answer.head)), promise: nil)
    if let body = answer.body { context.write(wrapOutboundOut(.body(body)), promise: nil) }
    context.write(wrapOutboundOut(.end(nil)), promise: nil)
    isUnflushed = true
    return true
  }
}
