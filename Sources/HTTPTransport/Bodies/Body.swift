import HTTPTypes
import Synchronization

/// The bytes of a message: in memory, in a store, or on their way.
///
/// Bytes in memory and in a store can be read as often as wanted, by several at once. A stream is read once, by one
/// reader at a time; each reader goes on where the one before it was.
public struct Body: AsyncSequence, Sendable {
  public typealias Element = [UInt8]

  /// The most bytes of one chunk, where they are in memory or in a store.
  package static let chunkSize = 64 << 10

  private enum Storage: Sendable {
    case bytes([UInt8])
    case stored(any StoredBody, Range<Int64>)
    case stream(
      next: @Sendable () async throws -> [UInt8]?, summary: @Sendable () async -> TransferSummary)
  }

  private let storage: Storage
  /// The URL that errors name.
  package var url = ""
  /// True if a content encoding was undone: fields that describe the encoded bytes do not fit.
  package var isDecoded = false

  /// Bytes in memory.
  public init(_ bytes: [UInt8]) { storage = .bytes(bytes) }

  /// A part of the bytes in a store.
  package init(_ stored: any StoredBody, _ range: Range<Int64>) {
    if let memory = stored as? BytesBody {
      storage = .bytes(memory.read(at: range.lowerBound, upTo: range.count))
    } else {
      storage = .stored(stored, range)
    }
  }

  /// A stream.
  ///
  /// - Parameters:
  ///   - next: returns the next chunk, `nil` at the end; throws ``TransportError``.
  ///   - summary: asked for after the end.
  public init(
    next: @escaping @Sendable () async throws -> [UInt8]?,
    summary: @escaping @Sendable () async -> TransferSummary = { TransferSummary() }
  ) {
    storage = .stream(next: next, summary: summary)
  }

  /// The whole body, if it is in memory already.
  public var bytesInMemory: [UInt8]? { if case .bytes(let bytes) = storage { bytes } else { nil } }

  /// A reader that begins at the first byte, or goes on with the stream.
  public func reader() -> BodyReader {
    switch storage {
    case .stream(let next, _): return BodyReader(next: next)
    case .bytes(let bytes):
      let rest = Mutex(bytes[...])
      return BodyReader {
        rest.withLock { rest in
          // All of it is handed on as it is.
          if rest.count == bytes.count, rest.count <= Self.chunkSize {
            rest = []
            return bytes.isEmpty ? nil : bytes
          }
          defer { rest = rest.dropFirst(Self.chunkSize) }
          return rest.isEmpty ? nil : Array(rest.prefix(Self.chunkSize))
        }
      }
    case .stored(let body, let range):
      let position = Mutex(range.lowerBound)
      return BodyReader {
        try position.withLock { position in
          guard position < range.upperBound else { return nil }
          let chunk = try body.read(
            at: position, upTo: Int(Swift.min(Int64(Self.chunkSize), range.upperBound - position)))
          position += Int64(chunk.count)
          return chunk.isEmpty ? nil : chunk
        }
      }
    }
  }

  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let reader: BodyReader

    public mutating func next() async throws -> [UInt8]? { try await reader.nextChunk() }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: reader()) }

  /// The whole body in memory.
  ///
  /// - Parameter limit: bytes; 256 MiB unless told.
  /// - Throws: ``TransportError/tooLarge(url:limit:)`` if it has more, ``TransportError``, ``ContentError``.
  public func collect(upTo limit: Int64 = 256 << 20) async throws -> [UInt8] {
    if let bytes = bytesInMemory, Int64(bytes.count) <= limit { return bytes }
    var bytes: [UInt8] = []
    for try await chunk in self {
      guard Int64(bytes.count) + Int64(chunk.count) <= limit else {
        throw TransportError.tooLarge(url: url, limit: limit)
      }
      bytes += chunk
    }
    return bytes
  }

  /// Timings and trailers of a stream: complete when it has ended or failed, partial before. Empty for what is in memory
  /// or in a store.
  public func transferSummary() async -> TransferSummary {
    if case .stream(_, let summary) = storage { await summary() } else { TransferSummary() }
  }
}

/// Reads a ``Body`` once, chunk by chunk.
public final class BodyReader: Sendable {
  private let next: @Sendable () async throws -> [UInt8]?

  fileprivate init(next: @escaping @Sendable () async throws -> [UInt8]?) { self.next = next }

  /// The next chunk, `nil` at the end. One task at a time may ask for it.
  ///
  /// - Throws: ``TransportError``, ``ContentError``, ``StoreError``.
  public func nextChunk() async throws -> [UInt8]? { try await next() }
}
