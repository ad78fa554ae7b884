import HTTPTypes
import Hummingbird
import NIOCore

/// A body that ends with an error when it grows over its limit.
struct LimitedBody: AsyncSequence, Sendable {
  let base: RequestBody
  let limit: Int
  let whenOver: @Sendable () -> Void

  /// RFC 9110 §15.5.14: the connection may be closed, so that the rest is not sent.
  static func error(limit: Int) -> HTTPError {
    LimitsMiddleware.closing(.contentTooLarge, "the body is over the limit of \(limit) bytes")
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
