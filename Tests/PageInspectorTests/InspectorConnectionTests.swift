import HTTPTransport
import NIOCore
import NIOWebSocket
import ScriptEngine
import Synchronization
import Testing

@testable import PageInspector
@testable import PageRuntime

@Suite(.timeLimit(.minutes(2))) struct InspectorSocketTests {
  /// A client's frame.
  static func frame(_ opcode: UInt8, _ data: [UInt8], isLast: Bool = true, isMasked: Bool = true) -> [UInt8] {
    var bytes: [UInt8] = [(isLast ? 0x80 : 0) | opcode]
    let mask: UInt8 = isMasked ? 0x80 : 0
    switch data.count {
    case ..<126: bytes.append(mask | UInt8(data.count))
    case ..<65_536: bytes += [mask | 126, UInt8(data.count >> 8), UInt8(data.count & 0xFF)]
    default: bytes += [mask | 127] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: data.count >> ($0 * 8)) }
    }
    guard isMasked else { return bytes + data }
    let key: [UInt8] = [1, 2, 3, 4]
    return bytes + key + data.enumerated().map { $1 ^ key[$0 % 4] }
  }

  @Test("frames are read whatever pieces their bytes come in", arguments: [1, 2, 7, 100_000])
  func pieces(size: Int) throws {
    let texts = [[UInt8]("a".utf8), [], [UInt8](repeating: 65, count: 200), [UInt8](repeating: 66, count: 70_000)]
    let bytes = texts.flatMap { Self.frame(1, $0) }
    var frames = SocketFrames(limit: 100_000)
    var found: [[UInt8]] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      frames.add(ByteBuffer(bytes: bytes[start..<min(start + size, bytes.count)]))
      while let frame = try frames.next() { found.append(Array(frame.unmaskedData.readableBytesView)) }
    }
    #expect(found == texts)
  }

  @Test("a frame that is too long is refused with its head")
  func tooLong() {
    var frames = SocketFrames(limit: 1_000)
    frames.add(ByteBuffer(bytes: [0x81, 0xFF] + [UInt8](repeating: 0xFF, count: 8)))
    #expect(throws: SocketFrames.TooLong.self) { try frames.next() }
    var exact = SocketFrames(limit: 1_000)
    exact.add(ByteBuffer(bytes: [0x81, 0xFE, 0x03, 0xE8]))
    #expect(throws: Never.self) { _ = try exact.next() }
  }

  @Test("a server's frames have the shortest form of their length", arguments: [0, 125, 126, 65_535, 65_536])
  func encoding(count: Int) {
    let bytes = Array(SocketFrames.encoded(.text, [UInt8](repeating: 1, count: count)).readableBytesView)
    #expect(bytes[0] == 0x81 && bytes[1] == UInt8(count < 126 ? count : count < 65_536 ? 126 : 127))
    #expect(bytes.count == count + (count < 126 ? 2 : count < 65_536 ? 4 : 10))
  }

  /// Runs a session with a client's bytes, and returns what it gets.
  private func run(_ bytes: [[UInt8]]) async throws -> (
    sent: [(opcode: UInt8, data: [UInt8])], asked: [InspectorQuestion]
  ) {
    let pieces = Mutex(bytes[...])
    let asked = Mutex([InspectorQuestion]())
    let sent = Mutex([(opcode: UInt8, data: [UInt8])]())
    let connection = InspectorConnection(
      read: { pieces.withLock { $0.popFirst() }.map { ByteBuffer(bytes: $0) } },
      news: [
        {
          try? await Task.sleep(for: .seconds(60))
          return nil
        }
      ],
      answer: { question in
        asked.withLock { $0.append(question) }
        return .value(["result": ["type": "number", "value": 2]])
      })
    try await connection.run(InspectorSession(id: "s", script: InspectedScript("", at: "u"))) { buffer in
      var reading = SocketFrames(limit: 1 << 30)
      reading.add(buffer)
      while let frame = try reading.next() {
        sent.withLock { $0.append((UInt8(webSocketOpcode: frame.opcode), Array(frame.data.readableBytesView))) }
      }
    }
    return (sent.withLock(\.self), asked.withLock(\.self))
  }

  @Test("messages are answered, pings too, and a close with its code; then the page keeps nothing for the session")
  func conversation() async throws {
    let (sent, asked) = try await run([
      Self.frame(1, Array(#"{"id":1,"met"#.utf8), isLast: false) + Self.frame(9, [7]),
      Self.frame(0, Array(#"hod":"x"}"#.utf8)), Self.frame(8, [0x03, 0xE8]),
    ])
    #expect(sent.map(\.opcode) == [10, 1, 8])
    #expect(sent[0].data == [7] && sent[2].data == [0x03, 0xE8])
    #expect(String(decoding: sent[1].data, as: UTF8.self).contains("-32601"))
    #expect(asked == [.page(.release(session: "s", handle: nil, group: nil))])
  }

  @Test("a violation of the protocol closes the socket with the code of RFC 6455")
  func violations() async throws {
    let huge = [0x81, 0xFF] + [UInt8](repeating: 0x7F, count: 8)
    for (bytes, code) in [
      (Self.frame(1, [65], isMasked: false), 1002), (Self.frame(3, [65]), 1002), (Self.frame(0, [65]), 1002),
      (Self.frame(1, [0xFF]), 1007), (huge, 1009), (Self.frame(8, [1]), 1002),
    ] {
      let (sent, _) = try await run([bytes])
      #expect(sent.count == 1 && sent[0].opcode == 8)
      #expect(sent.first?.data == [UInt8(code >> 8), UInt8(code & 0xFF)], "\(code)")
    }
  }
}
