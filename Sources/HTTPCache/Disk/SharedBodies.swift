import Dispatch
import HTTPTransport
import Synchronization

/// Stored bytes that are too long for memory: checked once, and read by all who want them at the same time.
final class SharedBodies: Sendable {
  private struct Name: Hashable {
    let digest: SHA256Digest
    let isKept: Bool
  }

  private struct Reference: Sendable {
    weak let body: StoredResponseBody?
  }

  private let open = Mutex<[Name: Reference]>([:])
  /// Serial, so that the next reader of the same bytes finds them checked. Reading and checking take a millisecond for
  /// each MiB, which would hold up the threads that all tasks share.
  private let queue = DispatchQueue(label: "pagekit.responses.checking")

  /// - Throws: ``StoredResponseBody/Damage``, ``StoreError``.
  func body(of entry: ResponseEntry, in files: ResponseFiles) async throws -> StoredResponseBody {
    let name = Name(digest: entry.digest, isKept: entry.isKept)
    if let body = openBody(name) { return body }
    return try await queue.result { [self] in
      if let body = openBody(name) { return body }
      let body = try StoredResponseBody(entry, in: files)
      open.withLock { open in
        open = open.filter { $0.value.body != nil }
        open[name] = Reference(body: body)
      }
      return body
    }
  }

  private func openBody(_ name: Name) -> StoredResponseBody? {
    guard let body = open.withLock({ $0[name]?.body }), body.isUnchanged else { return nil }
    return body
  }
}
