import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import PageTesting
import Testing

@testable import ServerKit

/// A connection of HTTP/2, frame by frame.
struct HTTP2HandlerTests {
  /// A frame that the server has sent.
  private struct Frame: Hashable {
    let type: UInt8
    let flags: UInt8
    let stream: UInt32
    let payload: [UInt8]

    /// The number that a GOAWAY's second word is, or that of another frame's first.
    var number: UInt32 { payload.dropFirst(type == 7 ? 4 : 0).prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
    var isEnd: Bool { flags & 1 != 0 }
  }

  private final class Parts: ChannelInboundHandler {
    typealias InboundIn = HTTPRequestPart
    var parts: [HTTPRequestPart] = []
    var errors: [String] = []
    var writability: [Bool] = []
    var isInactive = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { parts.append(unwrapInboundIn(data)) }
    func channelInactive(context: ChannelHandlerContext) { isInactive = true }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { errors.append("\(error)") }
    func channelWritabilityChanged(context: ChannelHandlerContext) { writability.append(context.channel.isWritable) }
  }

  private final class Fixture {
    let channel = EmbeddedChannel()
    let isCurrent = Monitor(true)
    let memory = RecordedResponses()
    private(set) var streams: [(channel: HTTP2StreamChannel, received: Parts)] = []
    private var unread: [UInt8] = []
    private let closed = Monitor(false)
    var isClosed: Bool { closed.read { $0 } }

    init(autoRead: Bool = true, idle: TimeAmount = .seconds(60)) throws {
      let connection = ConnectionHandler(
        limits: ServerSettings.Limits(), isPlain: true, common: ConnectionContext(memory: memory, address: "-"))
      let handler = try HTTP2Handler(
        connection, headerLimit: 1_000, metrics: HostMetrics(), idle: idle
      ) { [unowned self] stream in
        let received = Parts()
        try stream.syncOptions?.setOption(.autoRead, value: autoRead)
        try stream.pipeline.syncOperations.addHandler(received)
        streams.append((stream, received))
      }
      channel.closeFuture.whenComplete { [closed] _ in closed.change { $0 = true } }
      try channel.pipeline.syncOperations.addHandler(handler)
      try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
      receive(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Self.frame(4, 0, 0, []))
      _ = sent()
    }

    static let get = [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", "/known")]
    static let post = [(":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", "/")]

    /// Records a response to ``get``.
    func record(_ body: String) throws {
      let head = HTTPResponse(status: .ok, headerFields: [.date: "now", .requestID: "i"])
      let offer = ReplayOffer { [isCurrent] in isCurrent.read { $0 } ? 0 : nil }
      let answer = try #require(RecordedResponse(head, [ByteBuffer(string: body)], offer))
      var key = HTTP2Fields()
      for (name, value) in Self.get { key.add(name, value) }
      memory.remember(answer, for: key.bytes)
    }

    func isWritable(_ value: Bool) {
      channel.isWritable = value
      channel.pipeline.fireChannelWritabilityChanged()
    }

    static func frame(_ type: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
      [0, UInt8(payload.count >> 8), UInt8(payload.count & 255), type, flags] + word(stream) + payload
    }

    static func word(_ number: UInt32) -> [UInt8] {
      stride(from: 24, through: 0, by: -8).map { UInt8(number >> $0 & 255) }
    }

    /// - Parameter flags: 4, the end of the fields, and 1, the end of the request.
    func request(_ stream: UInt32, _ fields: [(String, String)] = Fixture.get, flags: UInt8 = 5) {
      func text(_ text: String) -> [UInt8] {
        text.utf8.count < 127
          ? [UInt8(text.utf8.count)] + text.utf8
          : [127, UInt8((text.utf8.count - 127) & 127 | 128), UInt8((text.utf8.count - 127) >> 7)] + text.utf8
      }
      receive(Self.frame(1, flags, stream, fields.flatMap { [0] + text($0.0) + text($0.1) }))
    }

    func data(_ stream: UInt32, _ count: Int, isEnd: Bool = false) {
      receive(Self.frame(0, isEnd ? 1 : 0, stream, Array(repeating: 0x61, count: count)))
    }

    /// Opens the windows of a stream and of the connection.
    func open(_ stream: UInt32, by count: UInt32) {
      for id in [0, stream] { receive(Self.frame(8, 0, id, Self.word(count))) }
    }

    func acknowledge(_ ping: Frame?) { receive(Self.frame(6, 1, 0, ping?.payload ?? [])) }

    func reset(_ stream: UInt32) { receive(Self.frame(3, 0, stream, Self.word(8))) }

    func receive(_ bytes: [UInt8]) {
      channel.pipeline.fireChannelRead(ByteBuffer(bytes: bytes))
      channel.pipeline.fireChannelReadComplete()
      channel.embeddedEventLoop.run()
    }

    func answer(_ stream: HTTP2StreamChannel, _ parts: HTTPResponsePart...) {
      for part in parts { stream.write(part, promise: nil) }
      stream.flush()
      channel.embeddedEventLoop.run()
    }

    /// The frames that were sent since the last call.
    func sent() -> [Frame] {
      channel.embeddedEventLoop.run()
      while let bytes = try? channel.readOutbound(as: ByteBuffer.self) { unread += bytes.readableBytesView }
      var frames: [Frame] = []
      while unread.count >= 9 {
        let length = Int(unread[1]) << 8 | Int(unread[2])
        guard unread.count >= 9 + length else { break }
        frames.append(
          Frame(
            type: unread[3], flags: unread[4], stream: unread[5..<9].reduce(0) { $0 << 8 | UInt32($1) },
            payload: Array(unread[9..<9 + length])))
        unread.removeFirst(9 + length)
      }
      return frames
    }

    /// The streams of the heads that were sent since the last call.
    func answered() -> [UInt32] { sent().filter { $0.type == 1 }.map(\.stream) }
  }

  private static let ok = HTTPResponse(status: .ok)

  // MARK: Recorded responses

  @Test("a recorded response is sent without a channel")
  func recorded() throws {
    let fixture = try Fixture()
    try fixture.record("body")
    fixture.request(1)
    let frames = fixture.sent()
    #expect(frames.map(\.type) == [1, 0])
    #expect(frames.last?.payload == Array("body".utf8))
    #expect(frames.last?.isEnd == true)
    #expect(fixture.streams.isEmpty)
  }

  @Test("a recorded response waits until its client has read more")
  func waiting() throws {
    let fixture = try Fixture()
    try fixture.record("body")
    fixture.isWritable(false)
    for stream in [1, 3] as [UInt32] { fixture.request(stream) }
    #expect(fixture.answered() == [])
    fixture.isWritable(true)
    #expect(fixture.answered() == [1, 3])
  }

  @Test("a waiting request that its client resets is not answered")
  func resetWhileWaiting() throws {
    let fixture = try Fixture()
    try fixture.record("body")
    fixture.isWritable(false)
    for stream in [1, 3] as [UInt32] { fixture.request(stream) }
    fixture.reset(1)
    fixture.isWritable(true)
    // RFC 9113 §5.4.2: a reset is not answered by one.
    #expect(Set(fixture.sent().map(\.stream)) == [3])
  }

  @Test("a recorded response that is outdated is not sent, nor one to a request with other fields or a body")
  func notRecorded() throws {
    let fixture = try Fixture()
    try fixture.record("body")
    fixture.request(1, Fixture.get + [("a", "b")])
    fixture.request(3, flags: 4)
    fixture.isCurrent.change { $0 = false }
    fixture.request(5)
    #expect(fixture.answered() == [])
    #expect(fixture.streams.map(\.channel.id) == [1, 3, 5])
  }

  // MARK: Streams

  @Test("a request comes to its channel, and a response without a body is one frame")
  func request() throws {
    let fixture = try Fixture()
    fixture.request(1, Fixture.get + [("x-a", "b\u{E9}")])
    let (stream, received) = try #require(fixture.streams.first)
    guard case .head(let head)? = received.parts.first else {
      Issue.record("no head")
      return
    }
    #expect(head.path == "/known" && head.authority == "localhost" && head.method == .get)
    #expect(head.headerFields[HTTPField.Name("x-a") ?? .from] == "b\u{E9}")
    #expect(received.parts.count == 2)
    fixture.answer(stream, .head(HTTPResponse(status: .notModified)), .end(nil))
    let frames = fixture.sent()
    #expect(frames.map(\.type) == [1])
    #expect(frames.first?.isEnd == true)
    #expect(received.isInactive && received.errors == [])
  }

  @Test("a response is sent in its parts as they are written, with trailers at its end")
  func trailers() throws {
    let fixture = try Fixture()
    fixture.request(1)
    let stream = try #require(fixture.streams.first).channel
    fixture.answer(stream, .head(HTTPResponse(status: .init(code: 103))))
    fixture.answer(stream, .head(Self.ok))
    #expect(fixture.sent().map(\.type) == [1, 1])
    fixture.answer(stream, .body(ByteBuffer(string: "a")))
    fixture.answer(stream, .body(ByteBuffer(string: "b")), .end([.eTag: "\"c\""]))
    let frames = fixture.sent()
    #expect(frames.map(\.type) == [0, 0, 1])
    #expect(frames.map(\.isEnd) == [false, false, true])
  }

  @Test("a body is read at the pace of its reader")
  func pace() throws {
    let fixture = try Fixture(autoRead: false)
    fixture.request(1, Fixture.post, flags: 4)
    let (stream, received) = try #require(fixture.streams.first)
    for _ in 0..<4 { fixture.data(1, 15_000) }
    #expect(received.parts.isEmpty)
    #expect(fixture.sent().filter { $0.type == 8 && $0.stream == 1 } == [])
    stream.read()
    #expect(received.parts.count == 2)
    // Windows are opened again by halves at least.
    #expect(fixture.sent().filter { $0.type == 8 && $0.stream == 1 }.map(\.number).reduce(0, +) > 32_767)
  }

  @Test("the writer of a body waits while the client takes nothing, and goes on when it does")
  func writability() throws {
    let fixture = try Fixture()
    fixture.request(1)
    let (stream, received) = try #require(fixture.streams.first)
    fixture.answer(stream, .head(Self.ok), .body(ByteBuffer(repeating: 0x61, count: 65_535)))
    #expect(received.writability == [false, true])
    fixture.answer(stream, .body(ByteBuffer(repeating: 0x61, count: 40_000)))
    #expect(received.writability == [false, true, false])
    fixture.open(1, by: 40_000)
    #expect(received.writability == [false, true, false, true])
    #expect(fixture.sent().filter { $0.type == 0 }.map(\.payload.count).reduce(0, +) == 105_535)
  }

  @Test("a channel that is closed resets its stream, without an error if its response was sent")
  func closing() throws {
    let fixture = try Fixture()
    fixture.request(1)
    fixture.request(3, Fixture.post, flags: 4)
    let (first, second) = (fixture.streams[0].channel, fixture.streams[1].channel)
    first.close(promise: nil)
    fixture.answer(second, .head(Self.ok), .body(ByteBuffer(string: "a")), .end(nil))
    second.close(promise: nil)
    #expect(fixture.sent().filter { $0.type == 3 }.map { [$0.stream, $0.number] } == [[1, 8], [3, 0]])
  }

  @Test("the rest of a request that is refused is not read, and its stream ends without an error soon after the answer")
  func refusedRest() throws {
    for body in ["too much", ""] {
      let fixture = try Fixture()
      fixture.request(1, Fixture.post, flags: 4)
      fixture.request(3)
      fixture.request(5, Fixture.post, flags: 4)
      for (stream, received) in fixture.streams {
        stream.output.refusesRest = true
        let answer = HTTPResponse(status: .contentTooLarge)
        fixture.answer(stream, .head(answer), .body(ByteBuffer(string: body)), .end(nil))
        // The second request was whole.
        #expect(received.isInactive == (stream.id == 3))
      }
      let frames = fixture.sent()
      for stream in [1, 3, 5] as [UInt32] {
        #expect(frames.filter { $0.stream == stream }.map(\.type) == (body.isEmpty ? [1] : [1, 0]))
        #expect(frames.last { $0.stream == stream }?.isEnd == true)
      }
      // More than half of the window, which is opened again of a body that is read.
      for _ in 0..<3 { fixture.data(1, 15_000) }
      fixture.data(5, 10, isEnd: true)
      #expect(fixture.streams.map(\.received.isInactive) == [false, true, true])
      #expect(fixture.streams.map(\.received.errors.count) == [0, 0, 0])
      #expect(fixture.sent().filter { $0.stream > 0 } == [])
      fixture.channel.embeddedEventLoop.advanceTime(by: .seconds(2))
      #expect(fixture.sent().filter { $0.stream > 0 }.map { [UInt32($0.type), $0.stream, $0.number] } == [[3, 1, 0]])
      #expect(fixture.streams.map(\.received.isInactive) == [true, true, true])
      // What is on its way disturbs nothing.
      fixture.data(1, 10, isEnd: true)
      fixture.request(7)
      #expect(!fixture.isClosed && fixture.streams.count == 4)
    }
  }

  @Test("a client that resets its stream ends the channel with an error, as the end of the connection does")
  func resets() throws {
    let fixture = try Fixture()
    for stream in [1, 3] as [UInt32] { fixture.request(stream, Fixture.post, flags: 4) }
    fixture.reset(1)
    #expect(fixture.streams.map(\.received.isInactive) == [true, false])
    fixture.channel.pipeline.fireChannelInactive()
    #expect(fixture.streams.map(\.received.isInactive) == [true, true])
    #expect(fixture.streams.map(\.received.errors.count) == [1, 1])
  }

  @Test("a request whose client ends its stream before its body is whole is an error, also without an error code")
  func cutBody() throws {
    let fixture = try Fixture()
    fixture.request(1, Fixture.post, flags: 4)
    fixture.data(1, 10)
    fixture.receive(Fixture.frame(3, 0, 1, Fixture.word(0)))
    #expect(fixture.streams.map(\.received.isInactive) == [true])
    #expect(fixture.streams.map(\.received.errors.count) == [1])
  }

  @Test("a response that is cut off never looks whole")
  func cutResponse() throws {
    let fixture = try Fixture()
    fixture.request(1)
    let stream = try #require(fixture.streams.first).channel
    fixture.answer(stream, .head(Self.ok), .body(ByteBuffer(repeating: 0x61, count: 100_000)))
    stream.close(promise: nil)
    fixture.open(1, by: 100_000)
    let frames = fixture.sent()
    #expect(frames.filter { $0.type < 2 }.allSatisfy { !$0.isEnd })
    #expect(frames.last?.type == 3)
  }

  @Test("fields that are too long are refused with 431, and the table of later requests is kept")
  func longFields() throws {
    let fixture = try Fixture()
    let long = (0..<20).map { ("x-\($0)", String(repeating: "y", count: 2_000)) }
    // A frame has 16 KiB at most.
    let fields = Fixture.get + long
    func block(_ fields: some Sequence<(String, String)>) -> [UInt8] {
      fields.flatMap { name, value -> [UInt8] in
        let length = value.utf8.count
        let head: [UInt8] =
          length < 127 ? [UInt8(length)] : [127, UInt8((length - 127) & 127 | 128), UInt8((length - 127) >> 7)]
        return [0, UInt8(name.utf8.count)] + name.utf8 + head + value.utf8
      }
    }
    fixture.receive(Fixture.frame(1, 1, 1, block(fields[..<8])))
    fixture.receive(Fixture.frame(9, 0, 1, block(fields[8..<15])))
    fixture.receive(Fixture.frame(9, 0, 1, block(fields[15..<20])))
    fixture.receive(Fixture.frame(9, 4, 1, block(fields[20...])))
    #expect(fixture.streams.isEmpty)
    #expect(fixture.answered() == [1])
    fixture.request(3)
    #expect(fixture.streams.map(\.channel.id) == [3])
    // A request whose body was to follow is answered too.
    fixture.receive(Fixture.frame(1, 0, 5, block(fields[..<8])))
    fixture.receive(Fixture.frame(9, 0, 5, block(fields[8..<15])))
    fixture.receive(Fixture.frame(9, 0, 5, block(fields[15..<20])))
    fixture.receive(Fixture.frame(9, 4, 5, block(fields[20...])))
    #expect(fixture.sent().filter { $0.stream == 5 }.map(\.type) == [1, 0])
    fixture.channel.embeddedEventLoop.advanceTime(by: .seconds(2))
    #expect(fixture.sent().filter { $0.stream == 5 }.map { [UInt32($0.type), $0.number] } == [[3, 0]])
  }

  // MARK: Floods

  @Test(
    "a client that sends too much that asks for nothing is told to calm down",
    arguments: ["resets", "pings", "settings", "empty frames"])
  func floods(_ kind: String) throws {
    let fixture = try Fixture()
    if kind == "empty frames" { fixture.request(1, Fixture.post, flags: 4) }
    for index in 0..<300 as Range<UInt32> where !fixture.isClosed {
      switch kind {
      case "resets":
        fixture.request(index * 2 + 1)
        fixture.reset(index * 2 + 1)
      case "pings": fixture.receive(Fixture.frame(6, 0, 0, Array("12345678".utf8)))
      case "settings": fixture.receive(Fixture.frame(4, 0, 0, []))
      default: fixture.data(1, 0)
      }
    }
    #expect(fixture.sent().last { $0.type == 7 }?.number == 11)
    #expect(fixture.isClosed)
  }

  @Test("a client may change priorities as often as some do, and not without end")
  func priorities() throws {
    let fixture = try Fixture()
    // RFC 9113 §5.3.2: the frames are deprecated, and may come on idle streams.
    func change(_ times: Int) {
      for _ in 0..<times where !fixture.isClosed {
        fixture.receive(Fixture.frame(2, 0, 201, Fixture.word(0) + [15]))
      }
    }
    for stream in [1, 3, 5] as [UInt32] {
      change(1_000)
      fixture.request(stream)
    }
    fixture.receive(Fixture.frame(6, 0, 0, Array("12345678".utf8)))
    #expect(!fixture.isClosed && fixture.streams.count == 3)
    change(1_001)
    #expect(fixture.sent().last { $0.type == 7 }?.number == 11)
    #expect(fixture.isClosed)
  }

  @Test("streams that are reset for what their client has sent are counted")
  func provokedResets() throws {
    let fixture = try Fixture()
    for index in 0..<300 as Range<UInt32> where !fixture.isClosed {
      fixture.request(index * 2 + 1, Fixture.post + [("content-length", "1")], flags: 4)
      fixture.data(index * 2 + 1, 2)
    }
    #expect(fixture.sent().last { $0.type == 7 }?.number == 11)
    #expect(fixture.isClosed)
  }

  @Test("a body that comes byte by byte is kept as one part until it is read")
  func smallFrames() throws {
    let fixture = try Fixture(autoRead: false)
    fixture.request(1, Fixture.post, flags: 4)
    for _ in 0..<1_000 { fixture.data(1, 1) }
    let (stream, received) = try #require(fixture.streams.first)
    stream.read()
    #expect(received.parts.count == 2)
  }

  @Test("trailers of a stream that was reset here are no fault, and a stream that was left out is one")
  func lateFields() throws {
    let fixture = try Fixture()
    fixture.request(3, Fixture.post, flags: 4)
    fixture.streams[0].channel.close(promise: nil)
    #expect(fixture.sent().map(\.type) == [3])
    fixture.request(3, [("x-a", "b")])
    #expect(!fixture.isClosed)
    fixture.request(1)
    #expect(fixture.sent().last { $0.type == 7 }?.number == 1)
    #expect(fixture.isClosed)
  }

  // MARK: The end

  @Test("an idle connection is announced its end, and closed when the client has acknowledged it")
  func idle() throws {
    let fixture = try Fixture(idle: .seconds(10))
    fixture.channel.embeddedEventLoop.advanceTime(by: .seconds(6))
    fixture.request(1)
    fixture.channel.embeddedEventLoop.advanceTime(by: .seconds(20))
    fixture.answer(fixture.streams[0].channel, .head(Self.ok), .end(nil))
    #expect(fixture.answered() == [1])
    fixture.channel.embeddedEventLoop.advanceTime(by: .seconds(9))
    #expect(fixture.sent() == [])
    fixture.channel.embeddedEventLoop.advanceTime(by: .seconds(2))
    let told = fixture.sent()
    #expect(told.map(\.type) == [7, 6])
    #expect(!fixture.isClosed)
    fixture.acknowledge(told.last)
    #expect(fixture.isClosed)
  }

  @Test("a slow client gets the rest of a response whose channel is closed, and one that has stopped does not")
  func slowReader() throws {
    for goesOn in [true, false] {
      let fixture = try Fixture()
      fixture.request(1)
      let stream = try #require(fixture.streams.first).channel
      fixture.answer(stream, .head(Self.ok), .body(ByteBuffer(repeating: 0x61, count: 100_000)), .end(nil))
      stream.close(promise: nil)
      _ = fixture.sent()
      fixture.channel.embeddedEventLoop.advanceTime(by: .seconds(50))
      if goesOn {
        fixture.open(1, by: 100_000)
        #expect(fixture.sent().filter { $0.type == 0 }.last?.isEnd == true)
      } else {
        fixture.channel.embeddedEventLoop.advanceTime(by: .seconds(100))
        #expect(fixture.sent().first?.type == 3)
      }
      #expect(!stream.isActive)
    }
  }

  @Test("a client that takes nothing of a recorded response counts as idle")
  func idleReader() throws {
    let fixture = try Fixture(idle: .seconds(10))
    try fixture.record(String(repeating: "a", count: 100_000))
    fixture.request(1)
    #expect(fixture.sent().filter { $0.type == 0 }.map(\.payload.count).reduce(0, +) == 65_535)
    fixture.channel.embeddedEventLoop.advanceTime(by: .seconds(3_600))
    #expect(fixture.isClosed)
  }

  @Test("a connection that ends waits for the requests that are under way, also if its client acknowledges nothing")
  func ending() throws {
    for acknowledges in [true, false] {
      let fixture = try Fixture()
      fixture.request(1)
      fixture.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
      let told = fixture.sent()
      #expect(told.map(\.type) == [7, 6])
      if acknowledges { fixture.acknowledge(told.last) }
      fixture.channel.embeddedEventLoop.advanceTime(by: .seconds(3_600))
      #expect(fixture.sent().map(\.type) == [7])
      #expect(!fixture.isClosed)
      // No further request is answered.
      fixture.request(3)
      #expect(fixture.streams.count == 1)
      fixture.answer(fixture.streams[0].channel, .head(Self.ok), .end(nil))
      fixture.channel.embeddedEventLoop.run()
      #expect(fixture.isClosed)
    }
  }
}
