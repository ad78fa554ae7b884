import HTTPTypes
import Hummingbird
import NIOCore
import PageCore
import Synchronization

/// A request's body on its way to the origin: each piece is asked of the client when the one before it has gone.
final class ForwardedBody: Sendable {
  let stream: RequestStream
  private let failed: Failed

  /// Why the client's body did not come whole; nil where it did, or was not wanted.
  var failure: (any Error)? { failed.error }

  /// Nil for a request that has none.
  init?(_ request: Request) {
    let length = request.headers[.contentLength].flatMap { Int64($0) }
    let mayHaveBody = [.post, .put, .patch].contains(request.method) || request.headers.contains(.transferEncoding)
    guard length.map({ $0 > 0 }) ?? mayHaveBody else { return nil }
    let failed = Failed()
    self.failed = failed
    stream = RequestStream(Pieces(body: request.body, failed: failed), length: length)
  }

  private final class Failed: Sendable {
    private let state = Mutex<(any Error)?>(nil)
    var error: (any Error)? { state.withLock(\.self) }
    func set(_ error: any Error) { state.withLock { $0 = error } }
  }

  private struct Pieces: AsyncSequence, Sendable {
    let body: RequestBody
    let failed: Failed

    func makeAsyncIterator() -> Iterator { Iterator(body: body.makeAsyncIterator(), failed: failed) }

    struct Iterator: AsyncIteratorProtocol {
      var body: RequestBody.AsyncIterator
      let failed: Failed

      mutating func next() async throws -> [UInt8]? {
        do {
          return try await body.next().map { Array(buffer: $0) }
        } catch let error where !(error is CancellationError) {
          failed.set(error)
          throw error
        }
      }
    }
  }
}
