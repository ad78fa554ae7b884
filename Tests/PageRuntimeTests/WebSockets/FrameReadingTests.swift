import NIOCore
import NIOWebSocket
import Testing

@testable import PageRuntime

/// Decisions on a server's frames, without a connection.
struct FrameReadingTests {
  private static func frame(
    _ opcode: WebSocketOpcode, _ bytes: [UInt8] = [], fin: Bool = true, masked: Bool = false, reserved: Bool = false
  ) -> WebSocketFrame {
    WebSocketFrame(
      fin: fin, rsv1: reserved, opcode: opcode, maskKey: masked ? .random() : nil, data: ByteBuffer(bytes: bytes))
  }

  private static func actions(_ frames: [WebSocketFrame], limit: Int = 100) -> [FrameReading.Action] {
    var reading = FrameReading(url: "ws://h/", limit: limit)
    return frames.compactMap { reading.receive($0) }
  }

  @Test("the fragments of a message are joined")
  func fragments() {
    let found = Self.actions([
      Self.frame(.text, Array("gr".utf8) + [0xC3], fin: false), Self.frame(.ping, [1]),
      Self.frame(.continuation, [0xBC], fin: false), Self.frame(.continuation, Array("n".utf8)),
      Self.frame(.binary, [1, 2]),
    ])
    #expect(
      found == [.pong(ByteBuffer(bytes: [1])), .deliver(.text("grün")), .deliver(.binary([1, 2]))])
  }

  @Test(
    "a frame that violates the protocol ends the connection",
    arguments: [
      [frame(.text, masked: true)], [frame(.binary, reserved: true)], [frame(.continuation, [1])],
      [frame(.text, fin: false), frame(.text)], [frame(.connectionClose, [3])],
      [frame(.connectionClose, [0x03, 0xED])], [frame(.connectionClose, [0x03, 0xE7])],
      [frame(.connectionClose, [0x07, 0xD0])],
    ])
  func violations(_ frames: [WebSocketFrame]) throws {
    guard case .fail(.protocolError, .broken)? = Self.actions(frames).last else {
      Issue.record("\(Self.actions(frames))")
      return
    }
  }

  @Test(
    "a text that is not UTF-8 ends the connection",
    arguments: [[frame(.text, [0xFF])], [frame(.connectionClose, [0x03, 0xE8, 0xFF])]])
  func invalidText(_ frames: [WebSocketFrame]) {
    guard case .fail(.dataInconsistentWithMessage, .broken)? = Self.actions(frames).last else {
      Issue.record("\(Self.actions(frames))")
      return
    }
  }

  @Test("a message over the limit ends the connection")
  func longMessage() {
    let piece = [UInt8](repeating: 0, count: 60)
    let found = Self.actions([Self.frame(.binary, piece, fin: false), Self.frame(.continuation, piece)])
    #expect(found == [.fail(code: .messageTooLarge, .tooLarge(url: "ws://h/", limit: 100))])
  }

  @Test(
    "a close has a code and a reason",
    arguments: [([], 1005, ""), ([0x03, 0xE8], 1000, ""), ([0x0F, 0xA0, 0x62, 0x79, 0x65], 4000, "bye")])
  func closes(_ body: [UInt8], _ code: Int, _ reason: String) {
    #expect(Self.actions([Self.frame(.connectionClose, body)]) == [.closed(code: code, reason: reason)])
  }

  @Test(
    "a URL gives the address to connect to",
    arguments: [
      ("ws://h", "h", 80, "h", "/"), ("WSS://h:444/a?b=c", "h", 444, "h:444", "/a?b=c"),
      ("wss://h/", "h", 443, "h", "/"),
      ("ws://[::1]:9/x", "::1", 9, "[::1]:9", "/x"), ("ws://h?q", "h", 80, "h", "/?q"),
    ])
  func addresses(
    _ text: String, _ host: String, _ port: Int, _ authority: String, _ resource: String
  ) throws {
    let address = try WebSocketAddress(text)
    #expect(address.host == host)
    #expect(address.port == port)
    #expect(address.authority == authority)
    #expect(address.resource == resource)
  }

  @Test(
    "a URL that is not one of a web socket is refused",
    arguments: ["", "http://h/", "ws:///a", "ws://h/#a", "ws://u:p@h/", "file:///etc/passwd", "ws://h/a b", "h"])
  func invalidURLs(_ text: String) {
    #expect(throws: WebSocketError.invalidURL(text)) { try WebSocketAddress(text) }
  }
}
