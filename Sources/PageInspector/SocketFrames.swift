import NIOCore
import NIOWebSocket
import PageRuntime

/// Splits the bytes that a client sends over a web socket into frames. RFC 6455 §5.2.
struct SocketFrames {
  /// The largest length of a frame's data in bytes.
  let limit: Int
  private var buffer = ByteBuffer()

  init(limit: Int) { self.limit = limit }

  /// A length that no frame may have.
  struct TooLong: Error {
    let length: UInt64
  }

  mutating func add(_ bytes: ByteBuffer) {
    buffer.discardReadBytes()
    var bytes = bytes
    buffer.writeBuffer(&bytes)
  }

  /// Returns the next frame; `nil` if it has not come completely.
  ///
  /// - Throws: ``TooLong`` as soon as the frame's head has come.
  mutating func next() throws(TooLong) -> WebSocketFrame? {
    var rest = buffer
    guard let first = rest.readInteger(as: UInt8.self), let second = rest.readInteger(as: UInt8.self) else {
      return nil
    }
    let length: UInt64?
    switch second & 0x7F {
    case 126: length = rest.readInteger(as: UInt16.self).map { UInt64($0) }
    case 127: length = rest.readInteger(as: UInt64.self)
    case let short: length = UInt64(short)
    }
    guard let length else { return nil }
    guard length <= UInt64(limit) else { throw TooLong(length: length) }
    var key: WebSocketMaskingKey?
    if second & 0x80 != 0 {
      guard let bytes = rest.readBytes(length: 4) else { return nil }
      key = WebSocketMaskingKey(bytes)
    }
    guard let data = rest.readSlice(length: Int(length)),
      let opcode = WebSocketOpcode(encodedWebSocketOpcode: first & 0x0F)
    else { return nil }
    buffer = rest
    return WebSocketFrame(
      fin: first & 0x80 != 0, rsv1: first & 0x40 != 0, rsv2: first & 0x20 != 0, rsv3: first & 0x10 != 0,
      opcode: opcode, maskKey: key, data: data)
  }

  /// The bytes of a server's frame.
  static func encoded(_ opcode: WebSocketOpcode, _ data: [UInt8]) -> ByteBuffer {
    var buffer = ByteBuffer()
    buffer.reserveCapacity(data.count + 10)
    buffer.writeInteger(0x80 | UInt8(webSocketOpcode: opcode))
    switch data.count {
    case ..<126: buffer.writeInteger(UInt8(data.count))
    case ..<65_536:
      buffer.writeInteger(126 as UInt8)
      buffer.writeInteger(UInt16(data.count))
    default:
      buffer.writeInteger(127 as UInt8)
      buffer.writeInteger(UInt64(data.count))
    }
    buffer.writeBytes(data)
    return buffer
  }
}
