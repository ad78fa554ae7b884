import HTTPTypes
import Synchronization

/// A request's body that is sent in chunks. It can be sent once.
///
/// The next chunk is requested only when there is room for it: a transport buffers at most 256 KiB and one chunk. The
/// first chunk is requested when the request's head was sent.
public final class RequestStream: Sendable {
  /// The length in bytes; `nil` if it is unknown until the end.
  public let length: Int64?
  private let chunks: @Sendable (_ take: @Sendable ([UInt8]) async throws -> Void) async throws -> Void
  /// Returns the trailers after the last chunk. They are sent with HTTP/1.1 if the length is unknown, otherwise left
  /// out.
  package let trailers: (@Sendable () async throws -> HTTPFields)?
  private let taken = Atomic(false)

  /// Makes a stream of chunks.
  ///
  /// - Parameters:
  ///   - chunks: the chunks. An error that they throw ends the transfer and leaves the body visibly incomplete. Their
  ///     task is cancelled when no more of them will be sent.
  ///   - length: the length in bytes; the transfer fails if the chunks have more or fewer.
  ///   - trailers: returns the trailers after the last chunk.
  public init<Chunks: AsyncSequence & Sendable>(
    _ chunks: Chunks, length: Int64? = nil, trailers: (@Sendable () async throws -> HTTPFields)? = nil
  ) where Chunks.Element == [UInt8] {
    self.length = length
    self.trailers = trailers
    self.chunks = { take in
      for try await chunk in chunks { try await take(chunk) }
    }
  }

  /// `true` if the first chunk was requested, so that the stream cannot be sent again.
  package var isTaken: Bool { taken.load(ordering: .acquiring) }

  /// Passes the chunks to `take`, one after the other, each when `take` has returned from the one before.
  ///
  /// - Returns: `false`, without a call of `take`, if the stream was used before.
  /// - Throws: what the producer or `take` throws.
  public func forEach(_ take: @escaping @Sendable ([UInt8]) async throws -> Void) async throws -> Bool {
    guard !taken.exchange(true, ordering: .acquiringAndReleasing) else { return false }
    try await chunks(take)
    return true
  }
}
