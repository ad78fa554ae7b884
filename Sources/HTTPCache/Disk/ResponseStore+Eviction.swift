import DiskStorage
import Foundation
import GRDB
import HTTPTransport
import Synchronization
import SystemPackage

/// Responses that were taken from the index, and files that it names no more.
struct RemovedResponses {
  private(set) var ids: [Int64] = []
  /// The ids of those that were kept: they have files of their own.
  private(set) var kept: [Int64] = []
  private(set) var bodies: [(digest: SHA256Digest, isKept: Bool)] = []

  var haveFiles: Bool { !kept.isEmpty || !bodies.isEmpty }

  mutating func delete(_ db: Database, id: Int64) throws {
    guard let (isKept, endedBody) = try ResponseRow.delete(db, id: id) else { return }
    ids.append(id)
    if isKept { kept.append(id) }
    if let endedBody { bodies.append((endedBody, isKept)) }
  }

  mutating func add(_ other: RemovedResponses) {
    ids += other.ids
    kept += other.kept
    bodies += other.bodies
  }
}

extension ResponseStore {
  /// Makes room where the file system runs low: what is stale goes first, then what is least used.
  ///
  /// - Returns: whether there is enough now.
  func makeRoom(for size: Int64) throws -> Bool {
    let missing = missingSpace(for: size)
    guard missing > 0 else { return true }
    let freed = try index.write { db in
      let before = try ResponseRow.evictableBytes(db)
      // The index itself may need what that frees.
      try removeFiles(try evict(db, toFree: missing), unnamedIn: db)
      return before &- (try ResponseRow.evictableBytes(db))
    }
    // On a full disk the index may not shrink: then the new responses take its empty pages.
    while (try? index.shrink()) == true {}
    return freed >= missing
  }

  /// Returns how many bytes are missing on the file system for so many more; 0 or less if there are enough.
  func missingSpace(for size: Int64) -> Int64 {
    freeSpace.missing(for: size, above: options.lowSpace, at: options.now()) {
      options.availableBytes(directory.cache.string)
    }
  }

  /// Lets go of what is least used, until what is left fits the capacity and so many bytes are freed besides.
  ///
  /// - Parameter missing: bytes to free whatever the capacity; what is stale goes first then.
  func evict(_ db: Database, toFree missing: Int64) throws -> RemovedResponses {
    var removed = RemovedResponses()
    var goal = currentCapacity
    if missing > 0 { goal = min(goal, try ResponseRow.evictableBytes(db) &- missing) }
    // Stale responses are evicted first only if the disk is nearly full.
    let staleUntil = missing > 0 ? Int64(options.now()) : .min
    while try ResponseRow.evictableBytes(db) > goal {
      let next = try db.rows(
        missing > 0
          ? "SELECT id, usedAt FROM response WHERE isKept = 0 ORDER BY (staleAt > ?), usedAt LIMIT 64"
          : "SELECT id, usedAt FROM response WHERE isKept = 0 AND staleAt >= ? ORDER BY usedAt LIMIT 64",
        [staleUntil]
      ) { (id: try $0.value("id") as Int64, usedAt: try $0.value("usedAt") as Int64) }
      if next.isEmpty {
        // What was counted is not there.
        try db.execute(sql: "UPDATE total SET entries = 0, bytes = 0 WHERE isKept = 0")
        break
      }
      for (id, usedAt) in next where try ResponseRow.evictableBytes(db) > goal {
        // Its turn comes later than the index says.
        if let time = uses.time(of: id), time > usedAt {
          try db.cachedStatement(sql: "UPDATE response SET usedAt = ? WHERE id = ?").execute(arguments: [time, id])
          continue
        }
        try removed.delete(db, id: id)
        evictions.add(1, ordering: .relaxed)
      }
    }
    return removed
  }

  /// Lets go of the variants of a key that were used least recently, if there are too many.
  func evictVariants(of key: CacheKey, _ db: Database, _ removed: inout RemovedResponses) throws {
    let count = try Int.fetchOne(
      db.cachedStatement(sql: "SELECT COUNT(*) FROM response WHERE key = ?"), arguments: [key.description])
    guard let count, count > ResponseCache.variantLimit else { return }
    let variants = try db.rows("SELECT id, usedAt FROM response WHERE key = ? AND isKept = 0", [key.description]) {
      (id: try $0.value("id") as Int64, usedAt: try $0.value("usedAt") as Int64)
    }
    let byUse = variants.map { (id: $0.id, usedAt: max($0.usedAt, uses.time(of: $0.id) ?? .min)) }
      .sorted { $0.usedAt < $1.usedAt }
    for variant in byUse.dropLast(ResponseCache.variantLimit) {
      try removed.delete(db, id: variant.id)
      evictions.add(1, ordering: .relaxed)
    }
  }

  /// Changes entries, and lets go of others where those have grown beyond the capacity: a head may become longer.
  func writeWithinCapacity<Value>(_ body: (Database) throws -> Value) throws -> Value {
    let (value, removed) = try index.write { db in (try body(db), try evict(db, toFree: 0)) }
    removeFiles(removed)
    return value
  }

  /// Removes files that were not named anew meanwhile. Where that fails, a later sweep does it.
  func removeFiles(_ removed: RemovedResponses) {
    guard removed.haveFiles else { return }
    try? index.write(isChange: false) { try removeFiles(removed, unnamedIn: $0) }
  }

  func removeFiles(_ removed: RemovedResponses, unnamedIn db: Database) throws {
    for id in removed.kept {
      let isNamed = try Bool.fetchOne(
        db.cachedStatement(sql: "SELECT 1 FROM response WHERE id = ? AND isKept = 1"), arguments: [id])
      if isNamed == nil { FileSystem.remove(directory.files(isKept: true).entry(id)) }
    }
    for (digest, isKept) in removed.bodies {
      let isNamed = try Bool.fetchOne(
        db.cachedStatement(sql: "SELECT 1 FROM body WHERE digest = ? AND isKept = ?"), arguments: [digest, isKept])
      if isNamed == nil { FileSystem.remove(directory.files(isKept: isKept).body(digest)) }
    }
  }
}
