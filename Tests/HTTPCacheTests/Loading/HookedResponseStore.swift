import HTTPCaching

@testable import Blobs
@testable import HTTPCache
@testable import HTTPTransport

/// A store that things happen to.
struct HookedResponseStore: ResponseStoring {
  let store: ResponseStore
  /// Bytes of a response after which the disk is full.
  var room = Int64.max
  /// Awaited before a body is given.
  var beforeBody: @Sendable () async -> Void = {}
  /// Awaited before a response is stored.
  var beforeCommit: @Sendable () async throws -> Void = {}

  private struct Writer: ResponseWriting {
    let spool: any ResponseWriting
    let room: Int64

    var count: Int64 { spool.count }
    func read(at position: Int64, upTo limit: Int) throws -> [UInt8] { try spool.read(at: position, upTo: limit) }
    func discard() { spool.discard() }
    func append(_ bytes: [UInt8]) throws {
      guard spool.count + Int64(bytes.count) <= room else { throw StoreError.diskFull(path: "/full") }
      try spool.append(bytes)
    }
  }

  func writer() throws -> any ResponseWriting { Writer(spool: try store.writer(), room: room) }

  func commit(
    _ writer: any ResponseWriting, head: ResponseMetadata, for key: CacheKey, replacing replaced: [ResponseEntry]
  ) async throws -> ResponseEntry? {
    try await beforeCommit()
    return try await store.commit((writer as? Writer)?.spool ?? writer, head: head, for: key, replacing: replaced)
  }

  func body(of entry: ResponseEntry) async throws -> (any StoredBody)? {
    await beforeBody()
    return try await store.body(of: entry)
  }

  func entries(for key: CacheKey) async throws -> [ResponseEntry] { try await store.entries(for: key) }
  func list() async throws -> [ResponseEntry] { try await store.list() }
  func usage() async throws -> ResponseUsage { try await store.usage() }
  func changeCount() -> Int64 { store.changeCount() }
  func update(_ entry: ResponseEntry, head: ResponseMetadata) async throws -> ResponseEntry? {
    try await store.update(entry, head: head)
  }
  func invalidate(_ keys: [CacheKey]) async throws { try await store.invalidate(keys) }
  func markStale(_ selection: ResponseSelection, since time: HTTPDate) async throws -> Int {
    try await store.markStale(selection, since: time)
  }
  func touch(_ ids: [Int64]) { store.touch(ids) }
  func setKept(_ isKept: Bool, for key: CacheKey) async throws -> Bool { try await store.setKept(isKept, for: key) }
  func remove(_ selection: ResponseSelection) async throws -> Int { try await store.remove(selection) }
  func setCapacity(_ bytes: Int64) async throws { try await store.setCapacity(bytes) }
}
