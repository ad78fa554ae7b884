import Foundation
import GRDB
import HTTPCaching
import PageCore
import SystemPackage

/// Files that nothing in the index names any more.
struct RemovedFiles {
  var entries: [(id: Int64, isKept: Bool)] = []
  var bodies: [(digest: SHA256Digest, isKept: Bool)] = []

  mutating func delete(_ db: Database, id: Int64) throws {
    guard let (row, endsBody) = try ResponseRow.delete(db, id: id) else { return }
    entries.append((row.id, row.isKept))
    if endsBody, let body = row.body { bodies.append((body, row.isKept)) }
  }

  mutating func add(_ other: RemovedFiles) {
    entries += other.entries
    bodies += other.bodies
  }

  /// Without a body that was named anew meanwhile.
  func except(body digest: SHA256Digest, isKept: Bool) -> RemovedFiles {
    var rest = self
    rest.bodies.removeAll { $0.digest == digest && $0.isKept == isKept }
    return rest
  }
}

extension ResponseStore {
  /// Makes room where the file system runs low: what is stale goes first, then what is least used.
  func makeRoom(for size: Int64) throws {
    let missing = options.lowSpace + size - options.availableBytes(directory.cache.string)
    guard missing > 0 else { return }
    removeFiles(try index.write { try evict($0, toFree: missing) })
  }

  /// Lets go of what is least used, until what is left fits the capacity and so many bytes are freed besides.
  ///
  /// - Parameter missing: bytes to free whatever the capacity; what is stale goes first then.
  func evict(_ db: Database, toFree missing: Int64) throws -> RemovedFiles {
    var removed = RemovedFiles()
    func bytes() throws -> Int64 {
      try Int64.fetchOne(db.cachedStatement(sql: "SELECT bytes FROM total WHERE isKept = 0")) ?? 0
    }
    let goal = missing > 0 ? min(currentCapacity, try bytes() - missing) : currentCapacity
    let order = missing > 0 ? "(staleAt > \(Int64(options.now()))), usedAt" : "usedAt"
    while try bytes() > goal {
      let next = try Int64.fetchAll(
        db.cachedStatement(sql: "SELECT id FROM response WHERE isKept = 0 ORDER BY \(order) LIMIT 16"))
      if next.isEmpty { break }
      for id in next {
        try removed.delete(db, id: id)
        if try bytes() <= goal { break }
      }
    }
    return removed
  }

  func removeFiles(_ removed: RemovedFiles) {
    for (id, isKept) in removed.entries { FileSystem.remove(directory.files(isKept: isKept).entry(id)) }
    for (digest, isKept) in removed.bodies { FileSystem.remove(directory.files(isKept: isKept).body(digest)) }
  }

  // MARK: Removing

  @discardableResult
  public func remove(_ selection: ResponseSelection) async throws -> Int {
    let (condition, arguments) = Self.condition(selection)
    let removed = try index.write { db in
      var removed = RemovedFiles()
      let ids = try Int64.fetchAll(db, sql: "SELECT id FROM response WHERE \(condition)", arguments: arguments)
      for id in ids { try removed.delete(db, id: id) }
      if case .all = selection { try db.execute(sql: "DELETE FROM kept") }
      if case .key(let key) = selection {
        try db.execute(sql: "DELETE FROM kept WHERE key = ?", arguments: [key.description])
      }
      // Before the index forgets them: a new index must not bring back what someone wanted gone.
      removeFiles(removed)
      return removed
    }
    if case .all = selection { sweep(olderThan: 0) }
    return removed.entries.count
  }

  private static func condition(_ selection: ResponseSelection) -> (String, StatementArguments) {
    switch selection {
    case .all: ("1", [])
    case .partition(let partition): ("substr(key, 1, \(partition.text.count + 1)) = ?", [partition.text + " "])
    case .key(let key): ("key = ?", [key.description])
    case .entries(let ids): ("id IN (\(ids.map(String.init).joined(separator: ",")))", [])
    case .since(let time): ("storedAt >= ?", [time])
    case .stale(let now): ("isKept = 0 AND staleAt <= ?", [now.secondsSinceEpoch])
    }
  }

  // MARK: Keeping

  public func setKept(_ isKept: Bool, for key: CacheKey) async throws -> Bool {
    let removed = try index.write { db in
      try db.execute(
        sql: isKept ? "INSERT OR IGNORE INTO kept (key) VALUES (?)" : "DELETE FROM kept WHERE key = ?",
        arguments: [key.description])
      let rows = try ResponseRow.fetch(db, where: "key = ? AND isKept = ?", [key.description, !isKept])
      var removed = RemovedFiles()
      for row in rows {
        guard let entry = row.entry() else { continue }
        try move(entry, db, isKept: isKept, &removed)
      }
      removed.add(try evict(db, toFree: 0))
      return removed
    }
    removeFiles(removed)
    return try !rows(for: key).isEmpty
  }

  /// Writes an entry's files in the other folder; the old ones go after the index knows.
  private func move(_ entry: ResponseEntry, _ db: Database, isKept: Bool, _ removed: inout RemovedFiles) throws {
    let source = directory.files(isKept: !isKept)
    guard let body = try? StoredResponseBody(entry, in: source) else {
      return try removed.delete(db, id: entry.id)
    }
    let target = directory.files(isKept: isKept)
    let moved = ResponseEntry(
      id: entry.id, key: entry.key, head: entry.head, digest: entry.digest, isKept: isKept, storedAt: entry.storedAt)
    let isInline = body.count <= Self.inlineLimit
    let front = try ResponseFront(moved, isInline: isInline).encoded()
    if !isInline, FileSystem.status(target.body(entry.digest))?.size != body.count {
      let copy = try ResponseSpool(in: directory.partial)
      var position: Int64 = 0
      while position < body.count {
        let piece = try body.read(at: position, upTo: 256 << 10)
        try copy.append(piece)
        position += Int64(piece.count)
      }
      if let memory = copy.memory {
        try ResponseFiles.write([memory], to: target.body(entry.digest), by: temporary(), durably: isKept)
      } else {
        if isKept { try copy.synchronise() }
        try ResponseFiles.place(copy.path, at: target.body(entry.digest), durably: isKept)
      }
    }
    let inline = isInline ? try body.read(at: 0, upTo: Int(body.count)) : []
    let parts = [try ResponseFront.fileHead(front), inline]
    try ResponseFiles.write(parts, to: target.entry(entry.id), by: temporary(), durably: isKept)
    try removed.delete(db, id: entry.id)
    try ResponseRow.insert(
      db, moved, front: front, fileSize: ResponseFront.headSize(front.count) + inline.count,
      body: isInline ? nil : entry.digest, usedAt: microseconds())
  }
}
