import NIOCore
import NIOWebSocket

/// Decides on each frame of the other side, and joins frames to messages. It does no I/O.
package struct FrameReading: Sendable {
  package enum Action: Equatable, Sendable {
    /// A message is complete.
    case deliver(WebSocketMessage)
    /// A ping is to be answered. RFC 6455 §5.5.2.
    case pong(ByteBuffer)
    /// The other side has sent a close; 1005 stands for no code. RFC 6455 §7.1.5.
    case closed(code: Int, reason: String)
    /// The connection is to be ended with a code for the other side.
    case fail(code: WebSocketErrorCode, WebSocketError)
  }

  private let url: String
  /// The largest length of a message in bytes.
  private let limit: Int
  /// `true` if the frames are a client's.
  private let isOfClient: Bool
  /// The kind of a message whose first frame has come and whose last has not.
  private var kind: WebSocketOpcode?
  private var bytes: [UInt8] = []

  /// - Parameters:
  ///   - url: the URL of the web socket, for errors.
  ///   - limit: the largest length of a message in bytes.
  ///   - isOfClient: `true` for a server, which reads frames of a client.
  package init(url: String, limit: Int, isOfClient: Bool = false) {
    self.url = url
    self.limit = limit
    self.isOfClient = isOfClient
  }

  /// Reads a frame.
  ///
  /// - Returns: `nil` if there is nothing to do yet.
  package mutating func receive(_ frame: WebSocketFrame) -> Action? {
    // RFC 6455 §5.1: a server must not mask frames, and a client must.
    if (frame.maskKey != nil) != isOfClient {
      return broken(isOfClient ? "a frame is not masked" : "a frame is masked")
    }
    // RFC 6455 §5.2: reserved bits have no meaning without an extension.
    if frame.rsv1 || frame.rsv2 || frame.rsv3 { return broken("a reserved bit is set") }
    switch frame.opcode {
    case .text, .binary:
      // RFC 6455 §5.4: fragments of two messages must not be interleaved.
      guard kind == nil else { return broken("a message begins inside another") }
      kind = frame.opcode
      return take(frame)
    case .continuation:
      guard kind != nil else { return broken("a continuation frame follows no message") }
      return take(frame)
    case .ping: return .pong(frame.unmaskedData)
    case .pong: return nil
    case .connectionClose: return close(Array(frame.unmaskedData.readableBytesView))
    default: return broken("a frame has an unknown opcode")
    }
  }

  private mutating func take(_ frame: WebSocketFrame) -> Action? {
    guard bytes.count + frame.data.readableBytes <= limit else {
      return .fail(code: .messageTooLarge, .tooLarge(url: url, limit: limit))
    }
    bytes += frame.unmaskedData.readableBytesView
    guard frame.fin, let kind else { return nil }
    defer { (self.kind, bytes) = (nil, []) }
    if kind == .binary { return .deliver(.binary(bytes)) }
    // RFC 6455 §8.1.
    guard let text = String(validating: bytes, as: UTF8.self) else {
      return .fail(code: .dataInconsistentWithMessage, .broken(url: url, reason: "a text is not UTF-8"))
    }
    return .deliver(.text(text))
  }

  /// RFC 6455 §5.5.1.
  private func close(_ body: [UInt8]) -> Action {
    if body.isEmpty { return .closed(code: 1005, reason: "") }
    guard body.count >= 2 else { return broken("a close has half a code") }
    let code = Int(body[0]) << 8 | Int(body[1])
    // RFC 6455 §7.4.1, §7.4.2: other codes are undefined, or must not be sent.
    guard (1000...1003).contains(code) || (1007...1014).contains(code) || (3000...4999).contains(code) else {
      return broken("a close has the code \(code)")
    }
    guard let reason = String(validating: body[2...], as: UTF8.self) else {
      return .fail(code: .dataInconsistentWithMessage, .broken(url: url, reason: "a close's reason is not UTF-8"))
    }
    return .closed(code: code, reason: reason)
  }

  private func broken(_ reason: String) -> Action { .fail(code: .protocolError, .broken(url: url, reason: reason)) }
}
