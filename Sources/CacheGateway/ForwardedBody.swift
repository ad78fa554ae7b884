import HTTPTransport
import HTTPTypes
import Hummingbird
import NIOCore
import ServerKit
import Synchronization

/// A request's body on its way to the origin: each piece is read from the client after the one before it was sent.
final class ForwardedBody: Sendable {
  let stream: RequestStream
  private let course: Course

  /// The error that ended the client's body; `nil` if the body was complete or was not read.
  var failure: (any Error)? { course.read(\.failure) }
  /// `true` once the whole body was read.
  var isWhole: Bool { course.read(\.isWhole) }

  /// Returns `nil` if the request has no body.
  init?(_ request: Request, version: RequestVersion) {
    let length = request.headers[.contentLength].flatMap { Int64($0) }
    guard length.map({ $0 > 0 }) ?? Self.mayFollow(request, version) else { return nil }
    let course = Course()
    self.course = course
    stream = RequestStream(Pieces(body: request.body, course: course), length: length)
  }

  /// Returns `true` if the request may have a body of unknown length.
  private static func mayFollow(_ request: Request, _ version: RequestVersion) -> Bool {
    // RFC 9112 §6.3: with HTTP/1 such a body is chunked. With HTTP/2 a missing body shows only at the end of the
    // stream.
    version == .http2
      ? ![.get, .head, .options, .trace].contains(request.method) : request.headers.contains(.transferEncoding)
  }

  private final class Course: Sendable {
    struct State {
      var failure: (any Error)?
      var isWhole = false
    }

    private let state = Mutex(State())

    func read<Value: Sendable>(_ value: (State) -> Value) -> Value { state.withLock { value($0) } }
    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
  }

  private struct Pieces: AsyncSequence, Sendable {
    let body: RequestBody
    let course: Course

    func makeAsyncIterator() -> Iterator { Iterator(body: body.makeAsyncIterator(), course: course) }

    struct Iterator: AsyncIteratorProtocol {
      var body: RequestBody.AsyncIterator
      let course: Course

      mutating func next() async throws -> [UInt8]? {
        do {
          let piece = try await body.next()
          // After a cancellation, unread pieces may remain.
          if piece == nil, !Task.isCancelled { course.change { $0.isWhole = true } }
          return piece.map { Array(buffer: $0) }
        } catch let error where !(error is CancellationError) {
          course.change { $0.failure = error }
          throw error
        }
      }
    }
  }
}
