import HTTPTypes
import Synchronization

/// A request's body that comes in chunks. It can be sent once.
///
/// Its producer is asked for the next chunk only when there is room for it: a transport keeps at most 256 KiB, and the
/// chunk in hand. The first is asked for when the request's head is out.
public final class RequestStream: Sendable {
  /// In bytes; nil where only the producer's end will tell.
  public let length: Int64?
  private let chunks: @Sendable (_ take: @Sendable ([UInt8]) async throws -> Void) async throws -> Void
  /// Asked for after the last chunk. Sent with HTTP/1.1 where the length is not known, otherwise left out.
  public let trailers: (@Sendable () async throws -> HTTPFields)?
  private let taken = Atomic(false)

  /// - Parameters:
  ///   - length: the transfer fails where the chunks make more or fewer bytes.
  ///   - chunks: what it throws ends the transfer, with a body that is visibly incomplete. Its task is cancelled when
  ///     no more of it will be sent.
  public init<Chunks: AsyncSequence & Sendable>(
    _ chunks: Chunks, length: Int64? = nil, trailers: (@Sendable () async throws -> HTTPFields)? = nil
  ) where Chunks.Element == [UInt8] {
    self.length = length
    self.trailers = trailers
    self.chunks = { take in
      for try await chunk in chunks { try await take(chunk) }
    }
  }

  /// Whether somebody has asked for the first chunk: it cannot be sent again.
  public var isTaken: Bool { taken.load(ordering: .acquiring) }

  /// Gives the chunks to `take`, one after the other, each when the one before it has been taken.
  ///
  /// - Returns: false, and nothing is given, where somebody has asked before.
  /// - Throws: what the producer or `take` throws.
  public func forEach(_ take: @escaping @Sendable ([UInt8]) async throws -> Void) async throws -> Bool {
    guard !taken.exchange(true, ordering: .acquiringAndReleasing) else { return false }
    try await chunks(take)
    return true
  }
}
