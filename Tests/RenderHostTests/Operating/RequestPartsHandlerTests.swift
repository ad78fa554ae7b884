import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import RenderHost
@testable import ServerKit

struct RequestsUnderWayTests {
  enum Event: Sendable {
    case head, end, answered
  }

  /// The events by their seconds, and the second at which the connection is closed.
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let events: [(Int64, Event)]
    let end: Int64?

    init(_ testDescription: String, _ events: [(Int64, Event)], end: Int64?) {
      (self.testDescription, self.events, self.end) = (testDescription, events, end)
    }
  }

  private static let one: [(Int64, Event)] = [(1, .head), (1, .end)]

  @Test(
    "a client has a time without a request and one for a body, and none while an earlier request is answered",
    arguments: [
      Row("no request has come", [], end: 10),
      Row("a request is answered", one, end: nil),
      Row("a request was answered", one + [(5, .answered)], end: 15),
      Row("two requests are answered", one + one, end: nil),
      Row("one of two requests was answered", one + one + [(5, .answered)], end: nil),
      Row("two requests were answered", one + one + [(5, .answered), (6, .answered)], end: 16),
      Row("a body is awaited", [(1, .head)], end: 31),
      Row("a body is awaited whose request was answered", [(1, .head), (5, .answered)], end: 31),
      Row("a body has come after its answer", [(1, .head), (5, .answered), (7, .end)], end: 17),
      Row("a body is awaited on a connection that was used", one + [(5, .answered), (9, .head)], end: 39),
      Row("a body is awaited behind an answer", one + [(2, .head)], end: nil),
      Row("a body is awaited after the answer before it", one + [(2, .head), (5, .answered)], end: 35),
      Row("a body is awaited behind two answers", one + one + [(2, .head), (5, .answered)], end: nil),
      Row(
        "a body is awaited after the two answers before it",
        one + one + [(2, .head), (5, .answered), (6, .answered)], end: 36),
      Row(
        "a body is awaited after two answers, one of them its own",
        one + [(2, .head), (5, .answered), (6, .answered)], end: 35),
      Row("a body has come behind an answer", one + [(2, .head), (3, .end)], end: nil),
    ])
  func times(_ row: Row) {
    var requests = RequestsUnderWay(idleTime: .seconds(10), bodyTime: .seconds(30))
    func time(_ second: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(second) }
    #expect(requests.deadline == nil)
    requests.connectionBegan(at: time(0))
    for (second, event) in row.events {
      switch event {
      case .head: requests.requestBegan(at: time(second))
      case .end: requests.requestEnded(at: time(second))
      case .answered: requests.responseEnded(at: time(second))
      }
    }
    #expect(requests.deadline == row.end.map(time))
  }
}

struct RequestPartsHandlerTests {
  /// Sends nothing of what is written, as if the client read nothing.
  private final class Stuck: ChannelOutboundHandler {
    typealias OutboundIn = HTTPResponsePart
    private var promises: [EventLoopPromise<Void>] = []

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      if let promise { promises.append(promise) }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      let unsent = promises
      promises = []
      for promise in unsent { promise.fail(ChannelError.ioOnClosedChannel) }
      context.close(mode: mode, promise: promise)
    }
  }

  private static let get = HTTPRequestPart.head(
    HTTPRequest(method: .get, scheme: "http", authority: "h", path: "/a"))
  private static let post = HTTPRequestPart.head(
    HTTPRequest(method: .post, scheme: "http", authority: "h", path: "/b", headerFields: [.contentLength: "4"]))

  /// A connection with an idle time of 10 seconds, and one of 30 seconds for bodies.
  private func connection(_ handlers: [any ChannelHandler] = []) throws -> EmbeddedChannel {
    var limits = ServerSettings.Limits()
    (limits.idle, limits.bodyTime) = (.seconds(10), .seconds(30))
    let channel = EmbeddedChannel(handlers: handlers + [RequestPartsHandler(limits: limits, metrics: HostMetrics())])
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    return channel
  }

  private func answer(_ channel: EmbeddedChannel) {
    channel.write(HTTPResponsePart.head(HTTPResponse(status: .ok)), promise: nil)
    channel.write(HTTPResponsePart.end(nil), promise: nil)
  }

  /// Lets seconds pass, and expects the connection to end with the last of them.
  private func expectEnd(of channel: EmbeddedChannel, after seconds: Int64) {
    channel.embeddedEventLoop.advanceTime(by: .seconds(seconds) - .milliseconds(1))
    #expect(channel.isActive)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
    #expect(!channel.isActive)
  }

  @Test("a connection without a request is closed after the idle time")
  func unused() throws { expectEnd(of: try connection(), after: 10) }

  @Test("a connection is idle from its last response on")
  func used() throws {
    let channel = try connection()
    for _ in 0..<3 {
      channel.embeddedEventLoop.advanceTime(by: .seconds(6))
      for part in [Self.get, .end(nil)] { try channel.writeInbound(part) }
      channel.embeddedEventLoop.advanceTime(by: .seconds(100))
      answer(channel)
    }
    expectEnd(of: channel, after: 10)
  }

  @Test("a body that is awaited has its own time, and not the idle time")
  func body() throws {
    let channel = try connection()
    channel.embeddedEventLoop.advanceTime(by: .seconds(6))
    try channel.writeInbound(Self.post)
    expectEnd(of: channel, after: 30)
  }

  @Test("neither time ends a connection during a response, and a body behind it has its time afterwards")
  func bodyBehind() throws {
    let channel = try connection()
    for part in [Self.get, .end(nil), Self.post] { try channel.writeInbound(part) }
    channel.embeddedEventLoop.advanceTime(by: .seconds(100))
    #expect(channel.isActive)
    answer(channel)
    expectEnd(of: channel, after: 30)
  }

  // MARK: The end of the server

  /// Makes a GET of a line, and a line of an answer: the option of its connection.
  private final class Codec: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard unwrapInboundIn(data).readableBytesView.contains(UInt8(ascii: "\n")) else { return }
      for part in [RequestPartsHandlerTests.get, .end(nil)] { context.fireChannelRead(wrapInboundOut(part)) }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      var line = ""
      if case .head(let head) = unwrapOutboundIn(data) { line = "answer \(head.headerFields[.connection] ?? "")\n" }
      context.write(wrapOutboundOut(ByteBuffer(string: line)), promise: promise)
    }
  }

  /// A connection of HTTP/1 whose bytes are read. It closes when the server ends and it has no request.
  private func wholeConnection(stopped: Bool = false) throws -> EmbeddedChannel {
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let common = ConnectionContext(memory: RecordedResponses(), address: "-")
    let channel = EmbeddedChannel(
      handler: ConnectionHandler(limits: ServerSettings.Limits(), isPlain: true, common: common))
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    if stopped { stop(channel) }
    try channel.pipeline.syncOperations.addHandlers([
      Codec(), RequestPartsHandler(limits: ServerSettings.Limits(), metrics: HostMetrics()),
      HTTPConnectionStateHandler(logger: logger),
    ])
    return channel
  }

  private func stop(_ channel: EmbeddedChannel) {
    channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
  }

  /// Answers the request, and expects that the answer announces the end of the connection.
  private func expectLastAnswer(of channel: EmbeddedChannel) throws {
    #expect(channel.isActive)
    answer(channel)
    channel.flush()
    channel.embeddedEventLoop.run()
    var sent = ""
    while let bytes = try channel.readOutbound(as: ByteBuffer.self) { sent += String(buffer: bytes) }
    #expect(sent == "answer close\n")
    // The client may take a while to read it.
    channel.embeddedEventLoop.advanceTime(by: .seconds(2))
    #expect(!channel.isActive)
  }

  @Test("a server that ends closes a connection without a request")
  func endWithoutRequest() throws {
    let channel = try wholeConnection()
    stop(channel)
    #expect(!channel.isActive)
    let used = try wholeConnection()
    try used.writeInbound(ByteBuffer(string: "GET\n"))
    answer(used)
    used.flush()
    stop(used)
    #expect(!used.isActive)
  }

  @Test("a server that ends finishes the answer under way, which says that it is the last")
  func endWithRequest() throws {
    let channel = try wholeConnection()
    try channel.writeInbound(ByteBuffer(string: "GET\n"))
    stop(channel)
    try expectLastAnswer(of: channel)
  }

  @Test("a server that ends answers the request whose head has begun, and no other")
  func endWithHead() throws {
    let channel = try wholeConnection()
    try channel.writeInbound(ByteBuffer(string: "GE"))
    stop(channel)
    try channel.writeInbound(ByteBuffer(string: "T\n"))
    try channel.writeInbound(ByteBuffer(string: "GET\n"))
    try expectLastAnswer(of: channel)
  }

  @Test("a connection whose handshake ends after the server has begun to end gets one answer")
  func endBeforeHTTP() throws {
    let channel = try wholeConnection(stopped: true)
    try channel.writeInbound(ByteBuffer(string: "GET\n"))
    try expectLastAnswer(of: channel)
  }

  @Test("a client that takes nothing of the last response is not waited for without a limit")
  func lastResponse() throws {
    let channel = try connection([Stuck()])
    let last = HTTPRequest(
      method: .get, scheme: "http", authority: "h", path: "/a", headerFields: [.connection: "close"])
    for part in [HTTPRequestPart.head(last), .end(nil)] { try channel.writeInbound(part) }
    channel.embeddedEventLoop.advanceTime(by: .seconds(100))
    answer(channel)
    expectEnd(of: channel, after: 10)
  }
}
