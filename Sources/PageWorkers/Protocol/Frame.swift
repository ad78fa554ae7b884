import Foundation
import NIOCore
import PageKit

/// The unit of a worker's socket: a message as JSON, and its bytes.
///
/// On the wire: the length of what follows and the length of the message, 32 bits each in network order; the message;
/// the bytes.
package enum Frame {
  /// The limit of a frame in bytes; a longer one ends the connection.
  static let limit = 64 << 20
  /// The limit of a message's bytes; longer contents are sent in pieces.
  package static let pieceLimit = 256 << 10
  /// The limits of a worker's message, which contains the page's data.
  private static let jsonLimits = JSONLimits(depth: JSONLimits.standard.depth + 16, values: 1_000_000)
  /// The limits of a message of the program that started the worker, which has checked it.
  private static let ownLimits = JSONLimits(depth: 512 + 16, values: 5_000_000)

  static func encode(_ message: some Encodable, _ payload: [UInt8] = []) throws -> ByteBuffer {
    let head = try JSONEncoder().encode(message)
    let length = 4 + head.count + payload.count
    guard length <= limit else { throw FrameError.tooLong(length) }
    var buffer = ByteBufferAllocator().buffer(capacity: 4 + length)
    buffer.writeInteger(UInt32(length))
    buffer.writeInteger(UInt32(head.count))
    buffer.writeBytes(head)
    buffer.writeBytes(payload)
    return buffer
  }

  /// Decodes a frame on the caller's thread, with the limits of what the program that started the worker sends.
  ///
  /// - Parameter buffer: a frame without its first length.
  /// - Throws: ``FrameError``, ``JSONError``, `DecodingError`.
  static func decode<Message: Decodable>(
    _ type: Message.Type, _ buffer: ByteBuffer
  ) throws -> (message: Message, payload: [UInt8]) {
    let (head, payload) = try split(buffer)
    return (try JSONValue(reading: head, limits: ownLimits).decoded(), payload)
  }

  /// Decodes a frame, with the limits of what a worker sends; a long message keeps no other task waiting.
  static func decodeInBackground<Message: Decodable & Sendable>(
    _ type: Message.Type, _ buffer: ByteBuffer
  ) async throws -> (message: Message, payload: [UInt8]) {
    let (head, payload) = try split(buffer)
    return (try await JSONValue.decode(type, from: head, limits: jsonLimits), payload)
  }

  private static func split(_ frame: ByteBuffer) throws -> (head: [UInt8], payload: [UInt8]) {
    var frame = frame
    guard let length = frame.readInteger(as: UInt32.self), let head = frame.readBytes(length: Int(length)) else {
      throw FrameError.cut
    }
    return (head, Array(frame.readableBytesView))
  }
}

/// The error of an invalid frame.
enum FrameError: Error, Hashable, CustomStringConvertible {
  case tooLong(Int)
  case cut

  var description: String {
    switch self {
    case .tooLong(let length): "a message of \(length) bytes is over the limit of \(Frame.limit)"
    case .cut: "a message is shorter than it says"
    }
  }
}

/// Splits the stream of bytes into frames.
struct FrameDecoder: ByteToMessageDecoder {
  typealias InboundOut = ByteBuffer

  mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
    guard let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) else { return .needMoreData }
    guard length <= Frame.limit else { throw FrameError.tooLong(Int(length)) }
    guard length >= 4 else { throw FrameError.cut }
    guard buffer.readableBytes >= 4 + Int(length) else { return .needMoreData }
    buffer.moveReaderIndex(forwardBy: 4)
    guard let frame = buffer.readSlice(length: Int(length)) else { return .needMoreData }
    context.fireChannelRead(wrapInboundOut(frame))
    return .continue
  }

  mutating func decodeLast(
    context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
  ) throws -> DecodingState { try decode(context: context, buffer: &buffer) }
}
