import Foundation
import GRDB
import HTTPTransport
import SystemPackage

extension ResponseStore {
  package func setKept(_ isKept: Bool, for key: CacheKey) async throws -> Bool {
    try await queues.write { [self] in
      let (removed, isStored) = try index.write(durably: isKept) { db in
        try db.execute(
          sql: isKept ? "INSERT OR IGNORE INTO kept (key) VALUES (?)" : "DELETE FROM kept WHERE key = ?",
          arguments: [key.description])
        var removed = RemovedFiles()
        for row in try ResponseRow.fetch(db, key: key) where row.isKept != isKept {
          try move(row, db, isKept: isKept, &removed)
        }
        removed.add(try evict(db, toFree: 0))
        return (removed, try !ResponseRow.fetch(db, key: key).isEmpty)
      }
      removeFiles(removed)
      return isStored
    }
  }

  static func isKept(_ key: CacheKey, _ db: Database) throws -> Bool {
    try Bool.fetchOne(
      db.cachedStatement(sql: "SELECT 1 FROM kept WHERE key = ?"), arguments: [key.description]) ?? false
  }

  /// Writes an entry's files in the other folder; the old ones go after the index knows.
  private func move(_ row: ResponseRow, _ db: Database, isKept: Bool, _ removed: inout RemovedFiles) throws {
    let (entry, source, target) = (row.entry, directory.files(isKept: !isKept), directory.files(isKept: isKept))
    let moved = entry.with(isKept: isKept)
    let body: StoredResponseBody
    do {
      body = try StoredResponseBody(entry, in: source)
    } catch is StoredResponseBody.Damage {
      return try removed.delete(db, id: entry.id)
    }
    guard let sealed = try ResponseFileHeader(moved, isInline: row.body == nil).sealed() else { return }
    var parts = [sealed]
    if let digest = row.body {
      try target.write(body, linking: source.body(digest), to: target.body(digest))
    } else {
      parts.append(try body.read(at: 0, upTo: Int(body.count)))
    }
    try target.write(parts, to: target.entry(entry.id))
    try removed.delete(db, id: entry.id)
    let usedAt = try nextUse(db)
    try ResponseRow.insert(
      db, moved, sealed: sealed, fileSize: parts.reduce(0) { $0 + $1.count }, body: row.body, usedAt: usedAt)
  }
}
