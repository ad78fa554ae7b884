import Foundation
import GRDB
import HTTPCaching
import HTTPTransport
import Logging
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

  /// Whoever removes what has these keys does not want what comes later to be kept either.
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
