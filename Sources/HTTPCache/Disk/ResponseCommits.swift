import HTTPTransport
import Synchronization

/// A response whose bytes are all there, with its header.
struct NewResponse: Sendable {
  /// Its `isKept` is settled when it is stored.
  let entry: ResponseEntry
  /// The header: seal and front.
  let sealed: [UInt8]
  let spool: ResponseSpool
  /// The ids of the entries that it replaces.
  let replaced: Set<Int64>

  /// The bytes of its header and of its body.
  var size: Int64 { Int64(sealed.count) + spool.count }

  /// The bytes of its body, if they are short.
  ///
  /// - Throws: ``StoreError``.
  func inlineBytes() throws -> [UInt8]? {
    ResponseStore.isInline(spool.count) ? try spool.read(at: 0, upTo: Int(spool.count)) : nil
  }
}

/// Responses that wait to be stored: those that come while the store is busy go into one transaction.
final class ResponseCommits: Sendable {
  struct Job: Sendable {
    let response: NewResponse
    let continuation: CheckedContinuation<ResponseEntry?, any Error>
  }

  /// The most responses of one transaction: a few milliseconds, for which no other process writes.
  private static let batchLimit = 64

  private let waiting = Mutex<[Job]>([])

  /// Adds a response to those that wait.
  ///
  /// - Returns: `true` if it is the first: then ``next()`` has to be called.
  func add(_ job: Job) -> Bool {
    waiting.withLock { waiting in
      waiting.append(job)
      return waiting.count == 1
    }
  }

  /// Takes those that have waited longest.
  ///
  /// - Returns: also, whether there are more: then this has to be called again.
  func next() -> (batch: [Job], hasMore: Bool) {
    waiting.withLock { waiting in
      let batch = Array(waiting.prefix(Self.batchLimit))
      waiting.removeFirst(batch.count)
      return (batch, !waiting.isEmpty)
    }
  }
}
