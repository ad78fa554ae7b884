import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTPTypes
import Synchronization

/// Makes answers without waiting, with everything that the middleware of a listener does for its requests: the id, the
/// limits, the metrics and the line in the log.
package final class PromptAnswers: Sendable {
  /// A request that is to be answered at once.
  package struct Asked: Sendable {
    package let head: HTTPRequest
    /// The address of the client; `nil` if it is unknown.
    package let client: String?
    /// Takes the offer to replay the answer.
    package let replay: ReplayContext?
    package let disconnection: ClientDisconnection
    /// `nil` if no line is logged for an answer without an error.
    package let note: AccessLogNote?
  }

  /// An answer, all of which is there; its body is `nil` if it has none.
  package typealias Answer = (head: HTTPResponse, body: ByteBuffer?)

  private let common: HostMiddleware
  private let logger: Logger
  private let make: @Sendable (Asked) -> Answer?
  private let made = Atomic<Int>(0)

  /// The number of answers that were made.
  package var count: Int { made.load(ordering: .relaxed) }

  /// - Parameters:
  ///   - common: the middleware of the listener.
  ///   - make: returns `nil` if an answer would have to be waited for, and for errors of servers, which are logged in
  ///     another way; is called on event loops.
  package init(
    _ common: HostMiddleware, logger: Logger, make: @escaping @Sendable (Asked) -> Answer?
  ) {
    self.common = common
    self.logger = logger
    self.make = make
  }

  /// Returns `true` if a request is one of those that are worth a try: without a body, and not the last one of its
  /// connection.
  static func mayAnswer(_ head: HTTPRequest) -> Bool {
    guard head.method == .get || head.method == .head else { return false }
    return head.headerFields.allSatisfy { field in
      switch field.name {
      case .connection: field.value.lowercased() == "keep-alive"
      case .contentLength, .transferEncoding, .upgrade, .expect: false
      default: true
      }
    }
  }

  func answer(
    to head: HTTPRequest, since started: ContinuousClock.Instant, address: String?, replay: ReplayContext?,
    disconnection: ClientDisconnection
  ) -> Answer? {
    guard HostMiddleware.refusal(head, common.limits) == nil else { return nil }
    let note = LogLevels.shared.accessLevel(logger) <= .info ? AccessLogNote() : nil
    let asked = Asked(head: head, client: address, replay: replay, disconnection: disconnection, note: note)
    guard var answer = make(asked) else { return nil }
    made.add(1, ordering: .relaxed)
    let id = HostRequestContext.givenID(head, replay) ?? HostRequestContext.newID()
    answer.head.headerFields[.requestID] = id
    let count = answer.body?.readableBytes ?? 0
    let line = note.flatMap { note in
      common.log.line(for: head, version: .http11, status: answer.head.status.code, note: note, logger)
    }
    line?.write(count, isAborted: false, since: started, address: address ?? "-", id: id)
    let measure = common.requests.measure(method: head.method, status: answer.head.status.code)
    measure(started)
    if let replay, replay.hasOffer {
      line?.repeats(with: replay)
      replay.onReplay { measure($0.started) }
    }
    return answer
  }
}

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
  private var pending: HTTPRequest?
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
        pending = head
        return
      }
      underWay += 1
    case .body: passOnHead(context)
    case .end(let trailers):
      if let head = pending, trailers == nil, answer(head, context) {
        pending = nil
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
    guard let head = pending else { return }
    pending = nil
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
