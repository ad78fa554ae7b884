import HTTPTypes
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import PageTesting
import Testing

@testable import RenderHost
@testable import ServerKit

struct PromptHandlerTests {
  private final class Reads: ChannelOutboundHandler {
    typealias OutboundIn = Never
    private(set) var count = 0

    func read(context: ChannelHandlerContext) {
      count += 1
      context.read()
    }
  }

  private static let get = HTTPRequest(method: .get, scheme: "http", authority: "h", path: "/a")
  private static let post = HTTPRequest(method: .post, scheme: "http", authority: "h", path: "/b")

  /// A channel whose requests are asked for later, and their number.
  private func channel(_ reads: Reads, _ asked: Monitor<[PromptAnswers.Asked]>) throws -> EmbeddedChannel {
    let answers = PromptAnswers(
      HostMiddleware(ServerSettings(), metrics: HostMetrics()), logger: Logger(label: "test")
    ) { request in
      asked.change { $0.append(request) }
      return .asked(cancel: {})
    }
    let connection = ConnectionContext(memory: RecordedResponses(capacity: 1 << 10), address: "127.0.0.1")
    let channel = EmbeddedChannel(handlers: [reads, PromptHandler(answers, on: connection, .http11)])
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    return channel
  }

  private func answer(_ request: PromptAnswers.Asked) {
    request.receive {
      .answer(PromptAnswers.Answer(head: HTTPResponse(status: .ok), length: 0, bytes: nil, rest: nil))
    }
  }

  @Test("a connection is not read while a response is on its way, also if the next request has begun")
  func pausedReading() throws {
    let (reads, asked) = (Reads(), Monitor<[PromptAnswers.Asked]>([]))
    let channel = try channel(reads, asked)
    let pieces = (0..<3).map { _ in HTTPRequestPart.body(ByteBuffer(string: "a")) }
    for part in [HTTPRequestPart.head(Self.get), .end(nil), .head(Self.post)] + pieces {
      try channel.writeInbound(part)
    }
    let before = reads.count
    for _ in 0..<3 { channel.read() }
    #expect(reads.count == before)
    answer(try #require(asked.read { $0.first }))
    #expect(reads.count == before + 1)
    #expect(try channel.readInbound(as: HTTPRequestPart.self) == .head(Self.post))
    // Its pieces are one.
    #expect(try channel.readInbound(as: HTTPRequestPart.self) == .body(ByteBuffer(string: "aaa")))
    #expect(try channel.readInbound(as: HTTPRequestPart.self) == nil)
    channel.read()
    #expect(reads.count == before + 2)
  }

  @Test("one more read is made while a response is on its way to a client that has sent nothing more")
  func readAhead() throws {
    let (reads, asked) = (Reads(), Monitor<[PromptAnswers.Asked]>([]))
    let channel = try channel(reads, asked)
    for round in 1...2 {
      for part in [HTTPRequestPart.head(Self.get), .end(nil)] { try channel.writeInbound(part) }
      let before = reads.count
      for _ in 0..<3 { channel.read() }
      #expect(reads.count == before + 1)
      // What it brought is held.
      try channel.writeInbound(HTTPRequestPart.head(Self.get))
      channel.read()
      #expect(reads.count == before + 1)
      #expect(asked.read(\.count) == 2 * round - 1)
      answer(try #require(asked.read { $0.last }))
      #expect(reads.count == before + 2)
      // The request that was read ahead is answered next.
      try channel.writeInbound(HTTPRequestPart.end(nil))
      #expect(asked.read(\.count) == 2 * round)
      answer(try #require(asked.read { $0.last }))
    }
  }

  @Test("a later answer is made for a client that is still there, and for no other", arguments: [true, false])
  func goneClient(isGone: Bool) throws {
    let asked = Monitor<[PromptAnswers.Asked]>([])
    let answers = PromptAnswers(
      HostMiddleware(ServerSettings(), metrics: HostMetrics()), logger: Logger(label: "test")
    ) { request in
      asked.change { $0.append(request) }
      return .asked(cancel: {})
    }
    let connection = ConnectionContext(memory: RecordedResponses(capacity: 1 << 10), address: "127.0.0.1")
    let channel = EmbeddedChannel(handler: PromptHandler(answers, on: connection, .http11))
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    try channel.writeInbound(
      HTTPRequestPart.head(HTTPRequest(method: .get, scheme: "http", authority: "h", path: "/a")))
    try channel.writeInbound(HTTPRequestPart.end(nil))
    let request = try #require(asked.read { $0.first })
    if isGone { channel.pipeline.fireChannelInactive() }
    var isMade = false
    request.receive {
      isMade = true
      return .answer(PromptAnswers.Answer(head: HTTPResponse(status: .ok), length: 0, bytes: nil, rest: nil))
    }
    #expect(isMade == !isGone)
    let part = try channel.readOutbound(as: HTTPResponsePart.self)
    #expect((part == nil) == isGone && answers.laterCount == (isGone ? 0 : 1))
  }
}
