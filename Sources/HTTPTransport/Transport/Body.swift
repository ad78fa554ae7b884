import HTTPTypes
import Synchronization

/// The bytes of a message: in memory, in a store, or a stream from the network.
///
/// Bytes in memory and in a store can be read repeatedly and by several readers at once. A stream is read once, by one
/// reader at a time; each reader continues where the one before it stopped.
///
///     for try await chunk in answer.body { print(chunk.count, "bytes") }  // or collect() for all of them
public struct Body: AsyncSequence, Sendable {
  /// A chunk of bytes.
  public typealias Element = [UInt8]

  /// The largest chunk of bytes in memory or in a store.
  package static let chunkSize = 64 << 10

  private enum Storage: Sendable {
    case bytes([UInt8], TransferSummary)
    case stored(any StoredBody, Range<Int64>)
    case stream(
      next: @Sendable () async throws -> [UInt8]?, summary: @Sendable () async -> TransferSummary,
      callbacks: (any CallbackReading)?)
  }

  private let storage: Storage
  /// The URL that errors of ``collect(upTo:)`` name.
  package var url = ""
  /// `true` if a content encoding was decoded, so that fields that describe the encoded bytes do not apply.
  package var isDecoded = false

  /// Makes a body of bytes in memory.
  public init(_ bytes: [UInt8]) { storage = .bytes(bytes, TransferSummary()) }

  /// Makes a body of bytes that have all been received.
  ///
  /// - Parameter summary: the figures and trailers of their transfer.
  public init(_ bytes: [UInt8], summary: TransferSummary) { storage = .bytes(bytes, summary) }

  /// Makes a body of a part of the bytes in a store.
  package init(_ stored: any StoredBody, _ range: Range<Int64>) {
    if let memory = stored as? BytesBody {
      storage = .bytes(memory.read(at: range.lowerBound, upTo: range.count), TransferSummary())
    } else {
      storage = .stored(stored, range)
    }
  }

  /// Makes a body of a stream.
  ///
  /// - Parameters:
  ///   - next: returns the next chunk, `nil` at the end; throws ``TransportError``.
  ///   - summary: returns the timings and trailers.
  ///   - callbacks: reads the same stream without a task; `nil` if only tasks can read it.
  package init(
    next: @escaping @Sendable () async throws -> [UInt8]?, summary: @escaping @Sendable () async -> TransferSummary,
    callbacks: (any CallbackReading)? = nil
  ) {
    storage = .stream(next: next, summary: summary, callbacks: callbacks)
  }

  /// Makes a body of a stream.
  ///
  /// - Parameter next: returns the next chunk, `nil` at the end; throws ``TransportError``.
  public init(next: @escaping @Sendable () async throws -> [UInt8]?) {
    self.init(next: next, summary: { TransferSummary() })
  }

  /// The whole body if it is in memory, otherwise `nil`.
  public var bytesInMemory: [UInt8]? { if case .bytes(let bytes, _) = storage { bytes } else { nil } }

  /// Reads the stream without a task; `nil` if the body is not a stream, or if only tasks can read it.
  package var callbacks: (any CallbackReading)? {
    if case .stream(_, _, let callbacks) = storage { callbacks } else { nil }
  }

  /// Returns a reader that begins at the first byte, or continues the stream.
  package func reader() -> BodyReader {
    switch storage {
    case .stream(let next, _, _): return BodyReader(next: next)
    case .bytes(let bytes, _):
      let rest = Mutex(bytes[...])
      return BodyReader {
        rest.withLock { rest in
          // A small body is passed on without a copy.
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

  /// The iterator of a body's chunks.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let reader: BodyReader

    /// Returns the next chunk; `nil` at the end.
    ///
    /// - Throws: ``TransportError``; ``ContentError`` if the content encoding cannot be undone; `StoreError` if stored bytes
    ///   cannot be read; `CancellationError`.
    public mutating func next() async throws -> [UInt8]? { try await reader.nextChunk() }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: reader()) }

  /// Reads the whole body into memory.
  ///
  /// - Parameter limit: the largest number of bytes; 256 MiB by default.
  /// - Throws: ``TransportError``, which is ``TransportError/tooLarge(url:limit:)`` if the body is larger;
  ///   ``ContentError`` if the content encoding cannot be undone; `StoreError` if stored bytes cannot be read;
  ///   `CancellationError`.
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

  /// Returns the figures and trailers of a transfer: complete when it has ended or failed, partial before. Empty for
  /// bytes that were not received.
  public func transferSummary() async -> TransferSummary {
    switch storage {
    case .bytes(_, let summary): summary
    case .stored: TransferSummary()
    case .stream(_, let summary, _): await summary()
    }
  }
}

/// Reads a ``Body`` once, chunk by chunk.
package final class BodyReader: Sendable {
  private let next: @Sendable () async throws -> [UInt8]?

  fileprivate init(next: @escaping @Sendable () async throws -> [UInt8]?) { self.next = next }

  /// Returns the next chunk, `nil` at the end. Only one task at a time may call it.
  ///
  /// - Throws: ``TransportError``, ``ContentError``, ``StoreError``.
  package func nextChunk() async throws -> [UInt8]? { try await next() }
}

/// Calls a function on an event loop, a moment later.
package typealias EventLoopCall = @Sendable (_ function: @escaping @Sendable () -> Void) -> Void

/// A stream of bytes for readers on event loops, which have no task.
package protocol CallbackReading: AnyObject, Sendable {
  /// Reads the next chunk, `nil` at the end. The next call may follow when `receive` has been called.
  ///
  /// - Parameter receive: is called once, on the event loop: with `CancellationError` if the body is released before.
  func next(on loop: @escaping EventLoopCall, _ receive: @escaping @Sendable (Result<[UInt8]?, any Error>) -> Void)

  /// The timings and trailers, complete at the end.
  var summary: TransferSummary { get }
}

/// The stored bytes of a response. They can be read repeatedly and by several readers at once.
package protocol StoredBody: Sendable {
  /// The number of bytes.
  var count: Int64 { get }
  /// Reads at most `limit` bytes from a position; returns no bytes at the end.
  ///
  /// - Throws: an error if the bytes cannot be read.
  func read(at position: Int64, upTo limit: Int) throws -> [UInt8]
}

/// Bytes in memory.
package struct BytesBody: StoredBody {
  private let bytes: [UInt8]

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  package var count: Int64 { Int64(bytes.count) }

  package func read(at position: Int64, upTo limit: Int) -> [UInt8] {
    guard position >= 0, position < count, limit > 0 else { return [] }
    if position == 0, limit >= bytes.count { return bytes }
    let start = Int(position)
    return Array(bytes[start..<(start + min(bytes.count - start, limit))])
  }
}
