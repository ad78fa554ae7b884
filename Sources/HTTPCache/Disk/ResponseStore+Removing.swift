import Blobs
import Foundation
import GRDB
import HTTPCaching
import HTTPTransport
import Logging
import Synchronization
import SystemPackage

extension ResponseStore {
  @discardableResult
  package func remove(_ selection: ResponseSelection) async throws -> Int {
    let count = try await inSteps(selection) { [self] db, ids, isFirst in
      var removed = RemovedResponses()
      for id in ids { try removed.delete(db, id: id) }
      // Before the index forgets them: a new index must not bring back what someone wanted gone. And on a full disk the
      // index may need the room.
      try removeFiles(removed, unnamedIn: db)
      if isFirst { try forgetKept(selection, db) }
      return removed.ids.count
    }
    try await queues.write { [self] in
      if count == nil { try index.write { try forgetKept(selection, $0) } }
      if case .all = selection { sweep(olderThan: 0) }
      shrinkLater()
    }
    return count ?? 0
  }

  /// Ends the keeping of a selection: responses that come later for its keys are not kept either.
  private func forgetKept(_ selection: ResponseSelection, _ db: Database) throws {
    switch selection {
    case .all, .key, .partition, .prefix:
      let (condition, arguments) = selection.condition
      try db.execute(sql: "DELETE FROM kept WHERE \(condition)", arguments: arguments)
    case .entries, .since, .stale, .tags: break
    }
  }

  // MARK: What is damaged

  /// Looks once more, since an entry may have been moved or written anew; and removes it where it is damaged, with all
  /// that share its bytes.
  func removeDamaged(_ entry: ResponseEntry) throws -> (any StoredBody)? {
    try index.write { db in
      guard let row = try ResponseRow.fetch(db, id: entry.id) else { return nil }
      do {
        return try content(of: row.entry, db)
      } catch is StoredResponseBody.Damage {
        logger.warning("a stored response has gone or was changed", metadata: ["key": "\(entry.key)"])
      }
      var ids = [row.id]
      if let body = row.body {
        ids += try Int64.fetchAll(
          db, sql: "SELECT id FROM response WHERE body = ? AND isKept = ?", arguments: [body, row.isKept])
      }
      var removed = RemovedResponses()
      for id in ids { try removed.delete(db, id: id) }
      try removeFiles(removed, unnamedIn: db)
      return nil
    }
  }
}

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

extension ResponseStore {
  /// Sweeps once a day, whichever process is first.
  func sweepDaily() {
    if directory.isSession { return }
    let files = directory.files(isKept: false)
    let stamp = files.root.appending("swept")
    if let last = FileSystem.status(stamp), options.now() - Double(last.modified) / 1e9 < 86_400 { return }
    // When an index is made, other files are removed.
    if directory.hasStore { sweep(olderThan: 86_400) }
    try? files.write([], to: stamp)
  }

  /// Gives the file system what the index does not use any more, if that is much of it: other responses will use the rest.
  func shrinkLater() {
    let pages = try? index.read { try index.emptyPages($0) }
    guard let pages, pages.empty > 256, pages.empty > pages.all / 4 else { return }
    queues.background { [weak self] in self?.shrink() }
  }

  private func shrink() {
    if (try? index.shrink()) == true { queues.background { [weak self] in self?.shrink() } }
  }

  /// Removes files that a killed process has left: those the index does not name, and bytes that no process is writing.
  ///
  /// - Parameter seconds: 0 for all of them.
  func sweep(olderThan seconds: Double) {
    let limit = options.now() - seconds
    func isOld(_ path: StorePath) -> Bool {
      seconds <= 0 || FileSystem.status(path).map { Double($0.modified) / 1e9 <= limit } ?? false
    }
    // While the index is locked no other process gives names to files.
    try? index.write(isChange: false) { db in
      for isKept in [false, true] {
        let files = directory.files(isKept: isKept)
        sweepPartial(files.partial, isOld)
        try sweep(files, isKept: isKept, db, isOld)
      }
    }
  }

  private func sweepPartial(_ folder: StorePath, _ isOld: (StorePath) -> Bool) {
    for name in FileSystem.names(in: folder) {
      let path = folder.appending(name)
      guard isOld(path), let file = try? FileSystem.open(path, .readOnly) else { continue }
      if flock(file.rawValue, LOCK_EX | LOCK_NB) == 0 { FileSystem.remove(path) }
      FileSystem.closeLocked(file)
    }
  }

  private func sweep(
    _ files: ResponseFiles, isKept: Bool, _ db: Database, _ isOld: (StorePath) -> Bool
  ) throws {
    let ids = Set(isKept ? try Int64.fetchAll(db, sql: "SELECT id FROM response WHERE isKept = 1") : [])
    let digests = Set(
      try SHA256Digest.fetchAll(db, sql: "SELECT digest FROM body WHERE isKept = ?", arguments: [isKept]))
    for path in BlobDirectory.files(in: files.entries) {
      let id = UInt64(path.lastName, radix: 16).map { Int64(bitPattern: $0) }
      if id.map({ !ids.contains($0) }) ?? true, isOld(path) { FileSystem.remove(path) }
    }
    for (digest, path) in files.bodies.all() {
      if digest.map({ !digests.contains($0) }) ?? true, isOld(path) { FileSystem.remove(path) }
    }
  }
}

extension ResponseStore {
  /// Entries of one transaction: a few milliseconds, for which no other process writes.
  private static let stepSize = 128

  /// Does something with the entries that are chosen now, a few at a time.
  ///
  /// - Parameter step: is given the ids of the entries, and whether it is the first.
  /// - Returns: the sum of what the steps return; `nil` if nothing is chosen.
  func inSteps(
    _ selection: ResponseSelection, _ step: @escaping @Sendable (Database, ArraySlice<Int64>, Bool) throws -> Int
  ) async throws -> Int? {
    var rest = try await queues.write { [index] in
      let (condition, arguments) = selection.condition
      return try index.read { db in
        try Int64.fetchAll(db, sql: "SELECT id FROM response WHERE \(condition)", arguments: arguments)[...]
      }
    }
    var count: Int?
    while !rest.isEmpty {
      let ids = rest.prefix(Self.stepSize)
      let isFirst = count == nil
      let changed = try await queues.write { [self] in try writeWithinCapacity { try step($0, ids, isFirst) } }
      count = (count ?? 0) + changed
      rest = rest.dropFirst(ids.count)
    }
    return count
  }

  package func markStale(_ selection: ResponseSelection, since time: HTTPDate) async throws -> Int {
    try await inSteps(selection) { [self] db, ids, _ in
      var (count, damaged) = (0, RemovedResponses())
      for id in ids {
        guard let row = try ResponseRow.fetch(db, id: id) else { continue }
        count += 1
        let head = row.entry.head.marked(staleSince: time)
        if try head == row.entry.head || rewrite(row, db, head: head) != nil { continue }
        // What cannot be marked must not be used as though it was fresh.
        try damaged.delete(db, id: id)
      }
      try removeFiles(damaged, unnamedIn: db)
      return count
    } ?? 0
  }
}

extension ResponseSelection {
  /// The condition for the table `response`; for a selection by key, also for `kept`.
  var condition: (sql: String, arguments: StatementArguments) {
    switch self {
    case .all: ("1", [])
    case .partition(let partition): Self.beginning(with: partition.text + " ")
    case .prefix(let prefix, let partition): Self.beginning(with: "\(partition.text) \(prefix)")
    case .key(let key): ("key = ?", [key.description])
    case .entries(let ids): ("id IN (\(ids.map(String.init).joined(separator: ",")))", [])
    case .since(let time): ("storedAt >= ?", [time])
    case .stale(let now): ("isKept = 0 AND staleAt <= ?", [now.secondsSinceEpoch])
    case .tags(let tags):
      (
        "id IN (SELECT response FROM tag WHERE tag IN (\(tags.map { _ in "?" }.joined(separator: ","))))",
        StatementArguments(tags)
      )
    }
  }

  /// A range of the index: SQLite compares the bytes of texts, and no byte of UTF-8 is the highest there is.
  private static func beginning(with text: String) -> (String, StatementArguments) {
    var end = Array(text.utf8)
    if let last = end.popLast() { end.append(last &+ 1) }
    return ("key >= ? AND key < CAST(? AS TEXT)", [text, Data(end)])
  }
}

/// Tells if there is room on the file system, which is asked once a second at most while there is plenty.
final class FreeSpace: Sendable {
  /// The bytes that a response may take beside those of its files, an estimate: blocks, names, and pages of the index.
  private static let overhead: Int64 = 16 << 10

  /// The last look at the file system, in seconds since 1970, and the bytes that may be taken before the next one: half
  /// of those that there were.
  private let last = Mutex<(time: Double, spare: Int64)?>(nil)

  /// Returns how many bytes are missing for so many more; 0 or less if there are enough.
  ///
  /// - Parameters:
  ///   - size: bytes of files of new responses.
  ///   - limit: bytes that have to stay free.
  ///   - now: seconds since 1970.
  ///   - available: how many bytes are free.
  func missing(for size: Int64, above limit: Int64, at now: Double, _ available: () -> Int64) -> Int64 {
    last.withLock { last in
      let taken = size.addingReportingOverflow(Self.overhead)
      if let look = last, (look.time..<look.time + 1).contains(now), !taken.overflow, taken.partialValue <= look.spare {
        last?.spare -= taken.partialValue
        return 0
      }
      let (wanted, overflow) = limit.addingReportingOverflow(size)
      let free = max(0, available())
      let missing = (overflow ? .max : wanted) - free
      last = missing < 0 ? (time: now, spare: -missing / 2) : nil
      return missing
    }
  }
}
