import NIOCore
import NIOWebSocket
import PageRuntime

/// Splits the bytes that a client sends over a web socket into frames, and makes a server's frames. RFC 6455 §5.2.
package struct SocketFrames {
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

  /// The frame that closes a socket. RFC 6455 §5.5.1.
  ///
  /// - Parameter code: the reason as a number; `nil` for none.
  package static func close(_ code: Int?) -> ByteBuffer {
    let body: [UInt8] = code.flatMap { UInt16(exactly: $0) }.map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } ?? []
    return encoded(.connectionClose, body)
  }

  /// The frame that asks a client if it is still there. RFC 6455 §5.5.2.
  package static var ping: ByteBuffer { encoded(.ping, []) }

  /// The frame of a text message.
  ///
  /// - Parameter text: UTF-8.
  package static func text(_ text: [UInt8]) -> ByteBuffer { encoded(.text, text) }
}

/// A message of a client's web socket, and the frame that answers it.
package enum SocketInput: Sendable {
  case message(WebSocketMessage)
  /// A ping, with the frame that answers it.
  case ping(ByteBuffer)
  /// A pong, or a part of a message: the client is there.
  case sign
  /// The end, with the last frame that the client is sent; `nil` if the connection is lost.
  case end(ByteBuffer?)

  /// Reads the socket of a client up to its end, which is the last input.
  ///
  /// - Parameters:
  ///   - limit: the largest length of a message in bytes; a longer one ends the socket.
  ///   - bytes: returns the bytes that come next; `nil` at the end.
  ///   - put: takes an input, and returns when there is room for more.
  package static func read(
    limit: Int, from bytes: () async throws -> ByteBuffer?, _ put: (SocketInput) async -> Void
  ) async {
    var frames = SocketFrames(limit: limit)
    var reading = FrameReading(url: "a client", limit: limit, isOfClient: true)
    do {
      while let bytes = try await bytes() {
        frames.add(bytes)
        while let frame = try frames.next() {
          let input = SocketInput(reading.receive(frame))
          await put(input)
          if case .end = input { return }
        }
      }
      await put(.end(nil))
    } catch is SocketFrames.TooLong {
      await put(.end(SocketFrames.close(Int(UInt16(webSocketErrorCode: .messageTooLarge)))))
    } catch {
      await put(.end(nil))
    }
  }

  private init(_ action: FrameReading.Action?) {
    self =
      switch action {
      case .deliver(let message): .message(message)
      case .pong(let data): .ping(SocketFrames.encoded(.pong, Array(data.readableBytesView)))
      case .closed(let code, _): .end(SocketFrames.close(code == 1005 ? nil : code))
      case .fail(let code, _): .end(SocketFrames.close(Int(UInt16(webSocketErrorCode: code))))
      case nil: .sign
      }
  }
}
