import DiskStorage
import HTTPCache
import HTTPCaching
import HTTPTransport
import Synchronization

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
  var place: InMemoryResponses.Place { InMemoryResponses.Place(digest: digest, isKept: isKept) }

  func with(head: ResponseMetadata? = nil, isKept: Bool? = nil) -> ResponseEntry {
    ResponseEntry(
      id: id, key: key, head: head ?? self.head, digest: digest, isKept: isKept ?? self.isKept, storedAt: storedAt)
  }
}
