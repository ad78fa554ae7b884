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
        var removed = RemovedResponses()
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

  /// Writes an entry's bytes to where they belong now; the old files go after the index knows.
  private func move(_ row: ResponseRow, _ db: Database, isKept: Bool, _ removed: inout RemovedResponses) throws {
    let (entry, source, target) = (row.entry, directory.files(isKept: !isKept), directory.files(isKept: isKept))
    let moved = entry.with(isKept: isKept)
    let body: any StoredBody
    do {
      body = try content(of: entry, db)
    } catch is StoredResponseBody.Damage {
      return try removed.delete(db, id: entry.id)
    }
    guard let sealed = try ResponseFileHeader(moved, isInline: row.body == nil).sealed() else { return }
    var inline: [UInt8]?
    if let digest = row.body {
      try target.write(body, linking: source.body(digest), to: target.body(digest))
    } else {
      inline = try body.read(at: 0, upTo: Int(body.count))
    }
    if isKept { try target.write([sealed, inline ?? []], to: target.entry(entry.id)) }
    try removed.delete(db, id: entry.id)
    try ResponseRow.insert(db, moved, sealed: sealed, bytes: inline, usedAt: try nextUse(db))
  }
}
