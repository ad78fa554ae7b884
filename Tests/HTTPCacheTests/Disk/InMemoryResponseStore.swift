import Blobs
import HTTPCache
import HTTPCaching
import HTTPTransport
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A response store in memory, for tests. It behaves like the store on disk, and loses its contents when it is
/// deallocated.
///
/// ```swift
/// let store = InMemoryResponseStore()
/// let cache = try ResponseCache(store: store)
/// await cache.store(bytes, forKey: "settings", at: now)
/// try store.loseBytes(of: #require(await store.list().first))
/// #expect(await cache.response(forKey: "settings") == nil)
/// ```
final class InMemoryResponseStore: ResponseStoring {
  private let state: Mutex<InMemoryResponses>
  private let now: @Sendable () -> Double

  /// Creates an empty store.
  ///
  /// - Parameters:
  ///   - capacity: the limit of stored bodies in bytes, without kept ones; equal bodies count once. Default: 20 MiB.
  ///   - now: the clock, in seconds since 1970.
  init(
    capacity: Int64 = 20 << 20, now: @escaping @Sendable () -> Double = { Date().timeIntervalSince1970 }
  ) {
    state = Mutex(InMemoryResponses(capacity: capacity))
    self.now = now
  }

  /// Simulates a lost or damaged file: reading this entry, or another one with the same bytes, becomes a miss.
  func loseBytes(of entry: ResponseEntry) {
    state.withLock { $0.bodies[.init(digest: entry.digest, isKept: entry.isKept)] = nil }
  }

  // MARK: Reading

  func entries(for key: CacheKey) async throws -> [ResponseEntry] {
    state.withLock { state in state.entries.values.filter { $0.key == key }.sorted { $0.id < $1.id } }
  }

  func body(of entry: ResponseEntry) async throws -> (any StoredBody)? {
    state.withLock { state in
      guard let current = state.entries[entry.id] else { return nil }
      if let bytes = state.bodies[current.place] { return InMemoryBody(bytes) }
      for entry in state.entries.values where entry.place == current.place { state.remove(entry.id) }
      return nil
    }
  }

  func list() async throws -> [ResponseEntry] {
    state.withLock { state in state.byUse.reversed() }
  }

  func usage() async throws -> ResponseUsage {
    state.withLock { state in
      let kept = state.entries.values.count { $0.isKept }
      return ResponseUsage(
        entries: state.entries.count - kept, bytes: state.bytes(isKept: false), keptEntries: kept,
        keptBytes: state.bytes(isKept: true), capacity: state.capacity)
    }
  }

  /// Always 0: no other process can change the store.
  func changeCount() -> Int64 { 0 }

  // MARK: Writing

  func writer() throws -> any ResponseWriting { InMemoryBody([]) }

  func commit(
    _ writer: any ResponseWriting, head: ResponseMetadata, for key: CacheKey, replacing replaced: [ResponseEntry]
  ) async throws -> ResponseEntry? {
    guard let body = writer as? InMemoryBody, body.count == head.extent.count else {
      throw StoreError.notWritable(path: "memory", reason: "the bytes are incomplete")
    }
    let bytes = body.finish()
    let digest = try ContentDigests(of: bytes).sha256
    return state.withLock { state in
      let isKept = state.keptKeys.contains(key)
      guard isKept || body.count <= state.capacity else { return nil }
      let same = state.entries.values.filter {
        $0.key == key && $0.head.vary == head.vary && (head.extent.isWhole || !$0.head.extent.isWhole)
      }
      for old in replaced + same { state.remove(old.id) }
      let entry = ResponseEntry(
        id: state.nextNumber(), key: key, head: head, digest: digest, isKept: isKept, storedAt: now())
      state.insert(entry, bytes)
      state.evictVariants(of: key)
      state.evict()
      return entry
    }
  }

  func update(_ entry: ResponseEntry, head: ResponseMetadata) async throws -> ResponseEntry? {
    guard head.extent.count == entry.head.extent.count else { return nil }
    return state.withLock { $0.change(entry.id) { $0.with(head: head) } }
  }

  func invalidate(_ keys: [CacheKey]) async throws {
    state.withLock { state in
      for entry in state.entries.values where keys.contains(entry.key) {
        var head = entry.head
        head.isInvalidated = true
        state.change(entry.id) { $0.with(head: head) }
      }
    }
  }

  func markStale(_ selection: ResponseSelection, since time: HTTPDate) async throws -> Int {
    state.withLock { state in
      let chosen = state.entries.values.filter(selection.contains)
      for entry in chosen { state.change(entry.id) { $0.with(head: entry.head.marked(staleSince: time)) } }
      return chosen.count
    }
  }

  func touch(_ ids: [Int64]) {
    state.withLock { state in
      for id in ids where state.entries[id] != nil { state.uses[id] = state.nextNumber() }
    }
  }

  func setKept(_ isKept: Bool, for key: CacheKey) async throws -> Bool {
    state.withLock { state in
      if isKept { state.keptKeys.insert(key) } else { state.keptKeys.remove(key) }
      for entry in state.entries.values where entry.key == key && entry.isKept != isKept {
        guard let bytes = state.bodies[entry.place] else {
          state.remove(entry.id)
          continue
        }
        state.remove(entry.id)
        state.insert(entry.with(isKept: isKept), bytes)
      }
      state.evict()
      return state.entries.values.contains { $0.key == key }
    }
  }

  // MARK: Removing

  @discardableResult
  func remove(_ selection: ResponseSelection) async throws -> Int {
    state.withLock { state in
      let chosen = state.entries.values.filter(selection.contains)
      for entry in chosen { state.remove(entry.id) }
      state.keptKeys = state.keptKeys.filter { selection.covers($0) != true }
      return chosen.count
    }
  }

  func setCapacity(_ bytes: Int64) async throws {
    state.withLock { state in
      state.capacity = bytes
      state.evict()
    }
  }
}

/// The contents of an ``InMemoryResponseStore``.
struct InMemoryResponses {
  /// A place of bytes: equal bytes are stored once for kept entries, and once for the others.
  struct Place: Hashable {
    let digest: SHA256Digest
    let isKept: Bool
  }

  var capacity: Int64
  private(set) var entries: [Int64: ResponseEntry] = [:]
  var bodies: [Place: [UInt8]] = [:]
  /// The time of each entry's last use, as a growing number.
  var uses: [Int64: Int64] = [:]
  var keptKeys: Set<CacheKey> = []
  private var number: Int64 = 0

  init(capacity: Int64) { self.capacity = capacity }

  mutating func nextNumber() -> Int64 {
    number += 1
    return number
  }

  /// The entries, the least recently used first.
  var byUse: [ResponseEntry] { entries.values.sorted { uses[$0.id, default: 0] < uses[$1.id, default: 0] } }

  func bytes(isKept: Bool) -> Int64 {
    bodies.reduce(0) { $0 + ($1.key.isKept == isKept ? Int64($1.value.count) : 0) }
  }

  mutating func insert(_ entry: ResponseEntry, _ bytes: [UInt8]) {
    entries[entry.id] = entry
    uses[entry.id] = nextNumber()
    bodies[entry.place] = bytes
  }

  @discardableResult
  mutating func change(_ id: Int64, _ body: (ResponseEntry) -> ResponseEntry) -> ResponseEntry? {
    guard let entry = entries[id] else { return nil }
    entries[id] = body(entry)
    return entries[id]
  }

  mutating func remove(_ id: Int64) {
    guard let entry = entries.removeValue(forKey: id) else { return }
    uses[id] = nil
    if !entries.values.contains(where: { $0.place == entry.place }) { bodies[entry.place] = nil }
  }

  /// Evicts the least recently used variants of a key if there are too many.
  mutating func evictVariants(of key: CacheKey) {
    let variants = byUse.filter { $0.key == key && !$0.isKept }
    for entry in variants.dropLast(ResponseCache.variantLimit) { remove(entry.id) }
  }

  mutating func evict() {
    for entry in byUse where !entry.isKept && bytes(isKept: false) > capacity { remove(entry.id) }
  }
}

/// Bytes that may still grow. They can be read as long as a reader holds them.
final class InMemoryBody: ResponseWriting {
  private let state: Mutex<(bytes: [UInt8], isFinished: Bool)>

  init(_ bytes: [UInt8]) { state = Mutex((bytes, false)) }

  var count: Int64 { state.withLock { Int64($0.bytes.count) } }

  func read(at position: Int64, upTo limit: Int) -> [UInt8] {
    state.withLock { state in
      guard position >= 0, position < state.bytes.count, limit > 0 else { return [] }
      return Array(state.bytes[Int(position)...].prefix(limit))
    }
  }

  func append(_ bytes: [UInt8]) throws {
    try state.withLock { state in
      guard !state.isFinished else {
        throw StoreError.notWritable(path: "memory", reason: "a stored response cannot grow")
      }
      state.bytes += bytes
    }
  }

  /// Returns all bytes; none can be appended afterwards.
  func finish() -> [UInt8] {
    state.withLock { state in
      state.isFinished = true
      return state.bytes
    }
  }

  func discard() {}
}

extension ResponseEntry {
  fileprivate var place: InMemoryResponses.Place { InMemoryResponses.Place(digest: digest, isKept: isKept) }
}
