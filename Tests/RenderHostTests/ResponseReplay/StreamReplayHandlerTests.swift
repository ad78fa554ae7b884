import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import PageTesting
import Testing

@testable import ServerKit

/// Requests of HTTP/2 whose client has not yet read what was sent before.
struct StreamReplayHandlerTests {
  private final class Fixture {
    let channel: EmbeddedChannel
    let isCurrent = Monitor(true)

    init() throws {
      let head: HPACKHeaders = [":status": "200", "date": "now", "x-request-id": "i"]
      let offer = ReplayOffer { [isCurrent] in isCurrent.read { $0 } ? 0 : nil }
      let answer = try #require(RecordedResponse(head, [ByteBuffer(string: "body")], offer))
      let memory = RecordedResponses()
      memory.remember(answer, for: try #require(RecordedResponses.key(of: Self.head)))
      let connection = ConnectionHandler(
        limits: ServerSettings.Limits(), isPlain: true, common: ConnectionContext(memory: memory, address: "-"))
      channel = EmbeddedChannel(handler: StreamReplayHandler(connection))
    }

    private static let head: HPACKHeaders = [":method": "GET", ":path": "/known"]

    func isWritable(_ value: Bool) {
      channel.isWritable = value
      channel.pipeline.fireChannelWritabilityChanged()
    }

    func request(on stream: HTTP2StreamID) throws {
      try receive(.headers(.init(headers: Self.head, endStream: true)), on: stream)
      channel.pipeline.fireChannelReadComplete()
    }

    func receive(_ payload: HTTP2Frame.FramePayload, on stream: HTTP2StreamID) throws {
      try channel.writeInbound(HTTP2Frame(streamID: stream, payload: payload))
    }

    /// The streams of the response heads that were sent.
    func answered() throws -> [HTTP2StreamID] {
      var streams: [HTTP2StreamID] = []
      while let frame = try channel.readOutbound(as: HTTP2Frame.self) {
        if case .headers = frame.payload { streams.append(frame.streamID) }
      }
      return streams
    }

    /// The streams of the frames that were passed on.
    func passedOn() throws -> [HTTP2StreamID] {
      var streams: [HTTP2StreamID] = []
      while let frame = try channel.readInbound(as: HTTP2Frame.self) { streams.append(frame.streamID) }
      return streams
    }
  }

  @Test("a recorded response waits until its client has read more")
  func waiting() throws {
    let fixture = try Fixture()
    try fixture.request(on: 1)
    #expect(try fixture.answered() == [1])
    fixture.isWritable(false)
    for stream in [3, 5] as [HTTP2StreamID] { try fixture.request(on: stream) }
    #expect(try fixture.answered() == [])
    fixture.isWritable(true)
    #expect(try fixture.answered() == [3, 5])
    #expect(try fixture.passedOn() == [])
  }

  @Test("a waiting request that its client resets is not answered, and nobody is told of it")
  func reset() throws {
    let fixture = try Fixture()
    fixture.isWritable(false)
    for stream in [1, 3] as [HTTP2StreamID] { try fixture.request(on: stream) }
    try fixture.receive(.windowUpdate(windowSizeIncrement: 10), on: 1)
    try fixture.receive(.rstStream(.cancel), on: 1)
    fixture.channel.pipeline.fireUserInboundEventTriggered(StreamClosedEvent(streamID: 1, reason: .cancel))
    fixture.isWritable(true)
    #expect(try fixture.answered() == [3])
    #expect(try fixture.passedOn() == [])
  }

  @Test("a waiting request whose recorded response becomes outdated is answered anew")
  func outdated() throws {
    let fixture = try Fixture()
    fixture.isWritable(false)
    try fixture.request(on: 1)
    fixture.isCurrent.change { $0 = false }
    fixture.isWritable(true)
    #expect(try fixture.answered() == [])
    try fixture.receive(.windowUpdate(windowSizeIncrement: 10), on: 1)
    #expect(try fixture.passedOn() == [1, 1])
  }

  @Test("a request without a recorded response does not wait for its client")
  func unknown() throws {
    let fixture = try Fixture()
    fixture.isWritable(false)
    fixture.isCurrent.change { $0 = false }
    try fixture.request(on: 1)
    #expect(try fixture.passedOn() == [1])
  }
}
