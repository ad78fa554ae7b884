import HTTPTypes
import Hummingbird
import NIOCore

/// A body that ends with an error if it exceeds its limit.
struct LimitedBody: AsyncSequence, Sendable {
  let base: RequestBody
  let limit: Int
  let whenOver: @Sendable () -> Void

  /// RFC 9110 §15.5.14: the connection may be closed, so that the client stops sending.
  static func error(limit: Int) -> HTTPError {
    LimitsMiddleware.closing(.contentTooLarge, "the body exceeds the limit of \(limit) bytes")
  }

  func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), limit: limit, whenOver: whenOver) }

  struct Iterator: AsyncIteratorProtocol {
    var base: RequestBody.AsyncIterator
    let limit: Int
    let whenOver: @Sendable () -> Void
    var bytes = 0

    mutating func next() async throws -> ByteBuffer? {
      guard let buffer = try await base.next() else { return nil }
      bytes += buffer.readableBytes
      guard bytes <= limit else {
        whenOver()
        throw LimitedBody.error(limit: limit)
      }
      return buffer
    }
  }
}
