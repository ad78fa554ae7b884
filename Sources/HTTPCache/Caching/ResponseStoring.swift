import Blobs
import HTTPCaching
import HTTPTransport
import HTTPTypes

/// Keeps responses between launches. A response that it loses is a miss, not an error.
///
/// Everything it answers was stored completely: a response becomes visible when its writer commits it.
package protocol ResponseStoring: Sendable {
  // MARK: Reading

  /// All variants that are stored for a key, the one stored last at the end.
  func entries(for key: CacheKey) async throws -> [ResponseEntry]

  /// Those of them that may answer a request with these fields, or be confirmed for it, and of the others at least one
  /// for each set of fields that responses were chosen by; with the bytes of one that was chosen by them, if they are
  /// short: most often they answer, and are here then.
  func responses(for key: CacheKey, fields: HTTPFields) async throws -> [FoundResponse]

  /// The same without waiting for anything, with the bytes of those that were chosen by the fields of a request, if they
  /// are short; `nil` if that is not possible.
  func responsesAtOnce(for key: CacheKey, fields: HTTPFields) -> [FoundResponse]?

  /// Returns `false` if nothing is stored for a key for certain, without waiting for anything.
  func mayHold(_ key: CacheKey) -> Bool

  /// The stored bytes, checked against their digest; `nil` if they have gone or were changed, and the entry with them.
  func body(of entry: ResponseEntry) async throws -> (any StoredBody)?

  /// Everything stored, most recently used first.
  func list() async throws -> [ResponseEntry]

  /// A part of the stored entries, in the order of the ids.
  ///
  /// - Returns: the entries behind an id, with the last id that was looked at; `nil` if there are no more behind it.
  func page(after id: Int64, limit: Int) async throws -> (entries: [ResponseEntry], last: Int64?)

  func usage() async throws -> ResponseUsage

  /// A number that changes when another process has changed the store; cheap.
  func changeCount() -> Int64

  // MARK: Writing

  /// Opens a file for the bytes of a new response.
  func writer() throws -> any ResponseWriting

  /// Makes a response visible, in the place of others, and makes room for it.
  ///
  /// - Parameter replaced: entries to remove. Entries with the same key and the same values of `Vary` are removed too,
  ///   but a part never removes a whole response. Of more than ``ResponseCache/variantLimit`` variants of a key the least
  ///   recently used are evicted, unless they are kept.
  /// - Returns: `nil` if it is too large for the store, or for the room on the file system.
  /// - Throws: ``StoreError``, also where bytes are missing.
  func commit(
    _ writer: any ResponseWriting, head: ResponseMetadata, for key: CacheKey, replacing replaced: [ResponseEntry]
  )
    async throws -> ResponseEntry?

  /// Gives an entry another head: its bytes were confirmed. Nil where it has gone meanwhile.
  func update(_ entry: ResponseEntry, head: ResponseMetadata) async throws -> ResponseEntry?

  /// Marks the entries of the keys as not to be used without asking.
  func invalidate(_ keys: [CacheKey]) async throws

  /// Records that entries were used, the most recent one last: eviction begins with the least recently used. It waits for
  /// nothing: the uses are recorded before what is asked of the store next, and may be in memory for a while.
  func touch(_ ids: [Int64])

  /// Keeps the entries of a key, also later ones, from being evicted, and makes them durable; or ends that.
  ///
  /// - Returns: whether anything is stored for the key.
  func setKept(_ isKept: Bool, for key: CacheKey) async throws -> Bool

  /// Marks entries as stale from a time on, unless they were before; their bytes stay. In steps, between which others
  /// get on.
  ///
  /// - Returns: how many entries were chosen.
  func markStale(_ selection: ResponseSelection, since time: HTTPDate) async throws -> Int

  // MARK: Removing

  /// In steps, between which others get on: what comes meanwhile may stay.
  ///
  /// - Returns: how many entries went.
  @discardableResult func remove(_ selection: ResponseSelection) async throws -> Int

  /// Makes the store give way until it has at most so many bytes.
  func setCapacity(_ bytes: Int64) async throws

  /// Returns when everything that was changed is on the disk.
  ///
  /// - Throws: ``StoreError``.
  func synchronize() async throws
}

/// A stored response that was looked up: its entry, and its bytes, checked against their digest, if they were read with
/// the entry.
package typealias FoundResponse = (entry: ResponseEntry, bytes: [UInt8]?)

extension ResponseStoring {
  package func responses(for key: CacheKey, fields: HTTPFields) async throws -> [FoundResponse] {
    try await entries(for: key).map { ($0, nil) }
  }

  package func responsesAtOnce(for key: CacheKey, fields: HTTPFields) -> [FoundResponse]? { nil }

  package func mayHold(_ key: CacheKey) -> Bool { true }

  package func page(after id: Int64, limit: Int) async throws -> (entries: [ResponseEntry], last: Int64?) {
    let behind = try await list().filter { $0.id > id }.sorted { $0.id < $1.id }
    let entries = Array(behind.prefix(limit))
    return (entries, behind.count > limit ? entries.last?.id : nil)
  }

  package func synchronize() async throws {}
}

/// The bytes of a response on their way in. Written by one task; read by any, also meanwhile.
package protocol ResponseWriting: StoredBody {
  /// - Throws: ``StoreError``; what was written before can still be read.
  func append(_ bytes: [UInt8]) throws
  /// Removes bytes that are not to be stored.
  func discard()
}

extension ResponseMetadata {
  /// The tags by which its origin wants it to be purged.
  package var tags: [String] { CacheTags.of(fields) }

  /// Stale from a time on, unless it was before.
  package func marked(staleSince time: HTTPDate) -> ResponseMetadata {
    var head = self
    head.staleSince = min(time, staleSince ?? time)
    head.staleAt = min(staleAt, time.secondsSinceEpoch)
    return head
  }
}

/// One stored response.
package struct ResponseEntry: Hashable, Sendable {
  /// Its name in the store; below 0 for one in memory only.
  package let id: Int64
  /// The key it is stored under.
  package let key: CacheKey
  /// Status, fields, times, and what it was chosen by.
  package let head: ResponseMetadata
  /// The digest of the stored bytes.
  package let digest: SHA256Digest
  /// No eviction takes it.
  package let isKept: Bool
  /// Seconds since 1970.
  package let storedAt: Double

  /// - Parameters:
  ///   - digest: of the stored bytes.
  ///   - storedAt: seconds since 1970.
  package init(
    id: Int64, key: CacheKey, head: ResponseMetadata, digest: SHA256Digest, isKept: Bool, storedAt: Double
  ) {
    self.id = id
    self.key = key
    self.head = head
    self.digest = digest
    self.isKept = isKept
    self.storedAt = storedAt
  }

  /// The same, with another id or head, or kept or not.
  package func with(id: Int64? = nil, head: ResponseMetadata? = nil, isKept: Bool? = nil) -> ResponseEntry {
    ResponseEntry(
      id: id ?? self.id, key: key, head: head ?? self.head, digest: digest, isKept: isKept ?? self.isKept,
      storedAt: storedAt)
  }
}

/// The contents of a store in numbers. Bytes are those of its files; bytes that several entries share count once.
public struct ResponseUsage: Hashable, Sendable {
  /// Responses that may be evicted.
  public var entries: Int
  /// The size of those, in bytes.
  public var bytes: Int64
  /// Responses that no eviction takes.
  public var keptEntries: Int
  /// The size of those, in bytes.
  public var keptBytes: Int64
  /// The limit of ``bytes``.
  public var capacity: Int64
  /// Responses that had to make room since the store was opened.
  public var evictions = 0

  package init(entries: Int = 0, bytes: Int64 = 0, keptEntries: Int = 0, keptBytes: Int64 = 0, capacity: Int64 = 0) {
    self.entries = entries
    self.bytes = bytes
    self.keptEntries = keptEntries
    self.keptBytes = keptBytes
    self.capacity = capacity
  }
}

/// A store that keeps nothing, for a cache where no disk can be used.
package struct NoResponseStore: ResponseStoring {
  /// A store that accepts nothing.
  package init() {}

  package func entries(for key: CacheKey) async throws -> [ResponseEntry] { [] }
  package func body(of entry: ResponseEntry) async throws -> (any StoredBody)? { nil }
  package func list() async throws -> [ResponseEntry] { [] }
  package func usage() async throws -> ResponseUsage { ResponseUsage() }
  package func changeCount() -> Int64 { 0 }

  package func writer() throws -> any ResponseWriting {
    throw StoreError.notWritable(path: "the response cache", reason: "there is none")
  }

  package func commit(
    _ writer: any ResponseWriting, head: ResponseMetadata, for key: CacheKey, replacing replaced: [ResponseEntry]
  ) async throws -> ResponseEntry? { nil }

  package func update(_ entry: ResponseEntry, head: ResponseMetadata) async throws -> ResponseEntry? { nil }
  package func invalidate(_ keys: [CacheKey]) async throws {}
  package func markStale(_ selection: ResponseSelection, since time: HTTPDate) async throws -> Int { 0 }
  package func touch(_ ids: [Int64]) {}
  package func setKept(_ isKept: Bool, for key: CacheKey) async throws -> Bool { false }
  package func remove(_ selection: ResponseSelection) async throws -> Int { 0 }
  package func setCapacity(_ bytes: Int64) async throws {}
}
