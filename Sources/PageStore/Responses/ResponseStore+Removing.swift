import Foundation
import GRDB
import HTTPCaching
import Logging
import PageCore
import SystemPackage

extension ResponseStore {
  @discardableResult
  public func remove(_ selection: ResponseSelection) async throws -> Int {
    let (condition, arguments) = Self.condition(selection)
    let count = try index.write { db in
      let ids = try Int64.fetchAll(db, sql: "SELECT id FROM response WHERE \(condition)", arguments: arguments)
      switch selection {
      case .all: try db.execute(sql: "DELETE FROM kept")
      // Whoever removes these does not want what comes later to be kept either.
      case .key, .partition: try db.execute(sql: "DELETE FROM kept WHERE \(condition)", arguments: arguments)
      case .entries, .since, .stale: break
      }
      var removed = RemovedFiles()
      for id in ids { try removed.delete(db, id: id) }
      // Before the index forgets them: a new index must not bring back what someone wanted gone.
      try removeFiles(removed, unnamedIn: db)
      return ids.count
    }
    if case .all = selection { sweep(olderThan: 0) }
    return count
  }

  private static func condition(_ selection: ResponseSelection) -> (String, StatementArguments) {
    switch selection {
    case .all: ("1", [])
    case .partition(let partition):
      ("substr(key, 1, \(partition.text.unicodeScalars.count + 1)) = ?", [partition.text + " "])
    case .key(let key): ("key = ?", [key.description])
    case .entries(let ids): ("id IN (\(ids.map(String.init).joined(separator: ",")))", [])
    case .since(let time): ("storedAt >= ?", [time])
    case .stale(let now): ("isKept = 0 AND staleAt <= ?", [now.secondsSinceEpoch])
    }
  }

  // MARK: What is damaged

  /// Looks once more, since an entry may have been moved or written anew; and removes it where it is damaged, with all
  /// that share its bytes.
  func removeDamaged(_ entry: ResponseEntry) throws -> StoredResponseBody? {
    try index.write { db in
      guard let row = try ResponseRow.fetch(db, id: entry.id) else { return nil }
      do {
        return try StoredResponseBody(row.entry, in: directory.files(isKept: row.isKept))
      } catch is StoredResponseBody.Damage {
        logger.warning("a stored response has gone or was changed", metadata: ["key": "\(entry.key)"])
      }
      var ids = [row.id]
      if let body = row.body {
        ids += try Int64.fetchAll(
          db, sql: "SELECT id FROM response WHERE body = ? AND isKept = ?", arguments: [body, row.isKept])
      }
      var removed = RemovedFiles()
      for id in ids { try removed.delete(db, id: id) }
      try removeFiles(removed, unnamedIn: db)
      return nil
    }
  }
}
