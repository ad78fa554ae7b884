import CoreMetrics
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Enforces the limits of requests: a body that is sent too slowly, a head that is too long or too slow. Closes a
/// connection that is idle, or after a response that says so. Detects that a client closes its side, as most do when they
/// no longer want the answer, or resets its stream.
///
/// One instance for each HTTP/1 connection and each HTTP/2 stream.
final class RequestPartsHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  private static let linger = TimeAmount.seconds(2)

  private let idleTime: Duration
  private let bodyLimit: Int
  private let metrics: HostMetrics
  /// The header fields of this server's own responses.
  private let ownFields: HTTPFields
  private var connection: ConnectionHandler?
  private var replay: ResponseReplayHandler?
  private let disconnection = ClientDisconnection()
  private var isStream = false
  private var requests: RequestsUnderWay
  /// Fires when the client's time is over, or before: a new task for every request would cost more.
  private var timer: (task: Scheduled<Void>, time: NIODeadline)?
  /// `true` while the client waits for 100 (Continue) before it sends its body.
  private var isExpectant = false
  private var ending = Ending.none
  /// `true` once the server ends: the next request is the last one.
  private var isStopping = false

  /// How far the end of the connection, or of the stream, has come.
  private enum Ending: Comparable {
    case none
    /// The client has announced its last request.
    case lastRequest
    /// A response has announced the end.
    case lastResponse
    /// No more is read, and the connection is closed when the client has received all that was written.
    case closing
  }

  /// - Parameter ownFields: the fields that are added to responses without them.
  init(limits: ServerSettings.Limits, metrics: HostMetrics, ownFields: HTTPFields = [:]) {
    requests = RequestsUnderWay(idleTime: TimeAmount(limits.idle), bodyTime: TimeAmount(limits.bodyTime))
    (idleTime, bodyLimit, self.metrics) = (limits.idle, limits.body, metrics)
    self.ownFields = ownFields
  }

  func handlerAdded(context: ChannelHandlerContext) {
    // A stream's parent is a connection, whose parent is the listening socket.
    isStream = context.channel.parent?.parent != nil
    let pipeline = (isStream ? context.channel.parent?.pipeline : context.pipeline)?.syncOperations
    connection = try? pipeline?.handler(type: ConnectionHandler.self)
    connection?.common.change(context.channel) { $0.disconnection = disconnection }
    requests.connectionBegan(at: context.eventLoop.now)
    watchClient(context)
    guard !isStream else { return }
    connection?.awaitHead()
    isStopping = connection?.isStopping == true
    guard let pipeline else { return }
    // They are nearer to the decoder and the encoder than this handler, and so are added after them.
    let bytes = try? RequestBytesHandler.add(to: pipeline)
    guard let connection, let bytes else { return }
    let replay = ResponseReplayHandler(connection, idle: idleTime)
    try? pipeline.addHandler(replay, position: .before(bytes))
    self.replay = replay
  }

  func channelActive(context: ChannelHandlerContext) {
    watchClient(context)
    context.fireChannelActive()
  }

  func channelInactive(context: ChannelHandlerContext) {
    disconnection.happen()
    cancelTimer()
    context.fireChannelInactive()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? ChannelEvent, event == .inputClosed { disconnection.happen() }
    if event is ChannelShouldQuiesceEvent, !isStream {
      isStopping = true
      if requests.unanswered > 0 {
        ending = max(ending, .lastRequest)
      } else if connection?.isHeadArriving == true {
        // The request is waited for. The next handler would close the connection, which has no request yet.
        return
      }
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // Bytes after the last answer are discarded, so that no reset hides the answer from the client.
    guard ending < .closing, ending == .none || requests.isArriving else { return }
    var data = data
    switch unwrapInboundIn(data) {
    case .head(var head):
      requests.requestBegan(at: context.eventLoop.now)
      if isStopping {
        head.headerFields[.connection] = "close"
        data = wrapInboundOut(.head(head))
      }
      // The connection ends with such a response.
      if head.headerFields[values: .connection].contains(where: { $0.lowercased() != "keep-alive" }) {
        replay?.replayContext.forbid()
      }
      if !isStream, head.headerFields[.connection] == "close" { ending = max(ending, .lastRequest) }
      connection?.headArrived()
      isExpectant = !isStream && expectsContinue(head)
      welcomeBody(context)
    case .body: isExpectant = false
    case .end:
      isExpectant = false
      requests.requestEnded(at: context.eventLoop.now)
      if !isStream { connection?.awaitHead() }
    }
    context.fireChannelRead(data)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    watchClient(context)
    context.fireChannelReadComplete()
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch unwrapOutboundIn(data) {
    case .head(var head):
      if head.status.kind != .informational {
        head.headerFields.addOwn(ownFields)
        // RFC 9112 §9.6: the last response announces the close.
        if ending == .lastRequest, requests.unanswered == 1 { head.headerFields[.connection] = "close" }
      }
      if head.headerFields[.connection]?.lowercased() == "close" {
        ending = max(ending, .lastResponse)
        // RFC 9113 §8.2.2: HTTP/2 has no Connection field.
        if isStream { head.headerFields[.connection] = nil }
        (context.channel as? HTTP2StreamChannel)?.output.refusesRest = true
      }
      context.write(wrapOutboundOut(.head(head)), promise: promise)
    case .body: context.write(data, promise: promise)
    case .end:
      requests.responseEnded(at: context.eventLoop.now)
      // After the last response too: its client may read nothing.
      watchClient(context)
      guard ending < .lastResponse || isStream else { return writeLast(context, data, promise) }
      context.write(data, promise: promise)
      replay?.answered(isNext: requests.unanswered == 0 && !requests.isArriving && ending < .lastResponse)
      // It was answered, or its answer follows this one.
      if requests.isArriving, requests.unanswered == 0 { isExpectant = false }
      welcomeBody(context)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard !isStream, requests.unanswered == 0 else { return context.fireErrorCaught(error) }
    // The request was answered: the parser may report an error twice.
    guard ending < .closing else { return }
    switch error {
    case HTTPParserError.headerOverflow:
      if connection?.hasLine == false {
        metrics.refusals("url").increment()
        answer(context, .uriTooLong, "the URL is too long")
      } else {
        metrics.refusals("header").increment()
        answer(context, .requestHeaderFieldsTooLarge, "the header fields are too long")
      }
    case let error as AmbiguousRequestError:
      metrics.refusals("unclear").increment()
      answer(context, error.status, error.reason)
    // RFC 9110 §9.1.
    case HTTPParserError.invalidMethod:
      metrics.refusals("unclear").increment()
      answer(context, .notImplemented, "the request's method is not supported")
    // RFC 9110 §2.5, §15.6.6: the parser supports no other minor versions.
    case HTTPParserError.invalidVersion:
      metrics.refusals("unclear").increment()
      answer(context, .httpVersionNotSupported, "only the versions 1.0 and 1.1 of HTTP/1 are supported")
    case is HTTPParserError:
      metrics.refusals("unclear").increment()
      answer(context, .badRequest, "the request is not valid HTTP")
    case is SlowHeadError: answer(context, .requestTimeout, "the request's head took too long")
    default: context.fireErrorCaught(error)
    }
  }

  /// RFC 9110 §10.1.1. A body over the limit gets its final response at once.
  private func expectsContinue(_ head: HTTPRequest) -> Bool {
    guard head.headerFields[.expect]?.lowercased() == "100-continue" else { return false }
    guard let length = head.headerFields[.contentLength] else { return head.headerFields.contains(.transferEncoding) }
    return Int(length).map { $0 > 0 && $0 <= bodyLimit } ?? false
  }

  /// Sends `100 Continue` after the earlier answers.
  private func welcomeBody(_ context: ChannelHandlerContext) {
    guard isExpectant, requests.unanswered == 1 else { return }
    isExpectant = false
    context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
  }

  /// Closes the connection, or the stream, when the client's time is over. RFC 9112 §9.5.
  private func watchClient(_ context: ChannelHandlerContext) {
    guard let time = requests.deadline, timer.map({ time < $0.time }) ?? true, context.channel.isActive else { return }
    cancelTimer()
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    let task = context.eventLoop.scheduleTask(deadline: time) {
      let (handler, context) = bound.value
      handler.timer = nil
      guard let time = handler.requests.deadline, time <= context.eventLoop.now else {
        return handler.watchClient(context)
      }
      context.close(promise: nil)
    }
    timer = (task, time)
  }

  private func cancelTimer() {
    timer?.task.cancel()
    timer = nil
  }

  private func answer(_ context: ChannelHandlerContext, _ status: HTTPResponse.Status, _ reason: String) {
    let body = ByteBuffer(bytes: JSONValue.error(reason).text)
    var fields: HTTPFields = [
      .contentType: "application/json", .contentLength: "\(body.readableBytes)", .connection: "close",
    ]
    fields.addOwn(ownFields)
    context.write(wrapOutboundOut(.head(HTTPResponse(status: status, headerFields: fields))), promise: nil)
    context.write(wrapOutboundOut(.body(body)), promise: nil)
    context.write(wrapOutboundOut(.end(nil)), promise: nil)
    closeGently(context)
  }

  /// Writes the last response and closes the connection after the client has received all of it.
  private func writeLast(_ context: ChannelHandlerContext, _ data: NIOAny, _ promise: EventLoopPromise<Void>?) {
    ending = .closing
    let sent = promise ?? context.eventLoop.makePromise()
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    sent.futureResult.whenComplete { _ in
      let (handler, context) = bound.value
      handler.closeGently(context)
    }
    context.writeAndFlush(data, promise: sent)
    replay?.answered(isNext: false)
  }

  /// RFC 9112 §9.6: the two sides are closed one after the other, so that the client can read the last response, which
  /// a reset would discard.
  private func closeGently(_ context: ChannelHandlerContext) {
    ending = .closing
    cancelTimer()
    context.flush()
    context.close(mode: .output, promise: nil)
    let channel = context.channel
    context.eventLoop.scheduleTask(in: Self.linger) { channel.close(mode: .all, promise: nil) }
  }
}

extension HTTPFields {
  /// Adds the fields that each response of a server has, and that this one lacks.
  ///
  /// - Parameter own: the fields of the server's own responses, beside Date.
  mutating func addOwn(_ own: HTTPFields) {
    // RFC 9110 §6.6.1.
    if !contains(.date) { self[.date] = HTTPDate.now.description }
    for field in own where !contains(field.name) { append(field) }
  }
}

/// The requests of a connection of HTTP/1, or of a stream of HTTP/2, that are under way, and the time that the client has
/// for what comes next.
///
/// Without a request the connection is idle. A body that is awaited has a time of its own, which begins once all earlier
/// requests are answered. Until then there is no limit: nothing may be read meanwhile, and the end of the connection
/// would cut the answer that is on its way.
struct RequestsUnderWay {
  private let idleTime: TimeAmount
  private let bodyTime: TimeAmount
  /// The number of requests whose answer is incomplete.
  private(set) var unanswered = 0
  /// `true` if the last request has not arrived completely.
  private(set) var isArriving = false
  /// The beginning of the client's time; `nil` before the connection begins.
  private var start: NIODeadline?

  /// - Parameters:
  ///   - idleTime: the time without a request.
  ///   - bodyTime: the time of a body.
  init(idleTime: TimeAmount, bodyTime: TimeAmount) { (self.idleTime, self.bodyTime) = (idleTime, bodyTime) }

  /// The time at which the connection is to be closed; `nil` while the client is not waited for.
  var deadline: NIODeadline? {
    // The request that arrives may be answered already, or be answered while it arrives.
    guard let start, unanswered <= (isArriving ? 1 : 0) else { return nil }
    return start + (isArriving ? bodyTime : idleTime)
  }

  mutating func connectionBegan(at now: NIODeadline) { start = now }

  mutating func requestBegan(at now: NIODeadline) {
    unanswered += 1
    (isArriving, start) = (true, now)
  }

  mutating func requestEnded(at now: NIODeadline) { (isArriving, start) = (false, now) }

  mutating func responseEnded(at now: NIODeadline) {
    unanswered -= 1
    // The answer to the request that arrives does not prolong the time of its body.
    if !isArriving || unanswered > 0 { start = now }
  }
}

/// The HTTP version of a request, as `Via` names it. RFC 9110 §7.6.3.
package enum RequestVersion: String, Sendable {
  case http10 = "1.0"
  case http11 = "1.1"
  case http2 = "2"

  package init(of request: Request, on channel: any Channel) async {
    // A stream's parent is a connection, whose parent is the listening socket.
    if channel.parent?.parent != nil {
      self = .http2
    } else if request.headers[.connection] == "close",
      let isOld = try? await channel.pipeline.handler(type: RequestHeadHandler.self).map(\.isOld).get(), isOld
    {
      // Every HTTP/1.0 request is the last of its connection.
      self = .http10
    } else {
      self = .http11
    }
  }
}
