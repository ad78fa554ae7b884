import Foundation
import GRDB
import HTTPCaching
import PageCore

/// A row of `response`, and what goes with it in the other tables.
struct ResponseRow {
  let id: Int64
  let isKept: Bool
  let front: [UInt8]
  /// The shared file its bytes are in; nil where they are in its own.
  let body: SHA256Digest?

  init(_ row: Row) throws {
    id = row["id"]
    isKept = row["isKept"]
    front = Array(row["front"] as Data)
    body = try row.decode(SHA256Digest?.self, forColumn: "body")
  }

  func entry() -> ResponseEntry? {
    (try? ResponseFront.decode(front))?.entry(isKept: isKept)
  }

  static func fetch(_ db: Database, where condition: String, _ arguments: StatementArguments) throws -> [ResponseRow] {
    let statement = try db.cachedStatement(
      sql: "SELECT id, isKept, front, body FROM response WHERE \(condition)")
    return try Row.fetchAll(statement, arguments: arguments).map { try ResponseRow($0) }
  }

  /// Adds a response whose files are in place.
  static func insert(
    _ db: Database, _ entry: ResponseEntry, front: [UInt8], fileSize: Int, body: SHA256Digest?, usedAt: Int64
  ) throws {
    try db.cachedStatement(
      sql: """
        INSERT INTO response (id, key, front, fileSize, body, isKept, storedAt, usedAt, staleAt)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    ).execute(arguments: [
      entry.id, entry.key.description, Data(front), fileSize, body, entry.isKept, entry.storedAt, usedAt,
      entry.head.staleAt,
    ])
    var added = Int64(fileSize)
    if let body {
      let size = entry.head.extent.count
      let entries = try Int.fetchOne(
        db.cachedStatement(
          sql: """
            INSERT INTO body (digest, isKept, size, entries) VALUES (?, ?, ?, 1)
            ON CONFLICT DO UPDATE SET entries = entries + 1 RETURNING entries
            """), arguments: [body, entry.isKept, size])
      if entries == 1 { added += size }
    }
    try addToTotal(db, isKept: entry.isKept, entries: 1, bytes: added)
  }

  /// Removes the response with this id.
  ///
  /// - Returns: the row, and whether its shared body has no other entry; nil where there was none.
  static func delete(_ db: Database, id: Int64) throws -> (row: ResponseRow, endsBody: Bool)? {
    let statement = try db.cachedStatement(
      sql: "DELETE FROM response WHERE id = ? RETURNING id, isKept, front, body, fileSize")
    guard let found = try Row.fetchOne(statement, arguments: [id]) else { return nil }
    let row = try ResponseRow(found)
    var removed: Int64 = found["fileSize"]
    var endsBody = false
    if let body = row.body {
      let left = try Row.fetchOne(
        db.cachedStatement(
          sql: "UPDATE body SET entries = entries - 1 WHERE digest = ? AND isKept = ? RETURNING entries, size"),
        arguments: [body, row.isKept])
      if let left, left["entries"] == 0 {
        endsBody = true
        removed += left["size"]
        try db.cachedStatement(sql: "DELETE FROM body WHERE digest = ? AND isKept = ?")
          .execute(arguments: [body, row.isKept])
      }
    }
    try addToTotal(db, isKept: row.isKept, entries: -1, bytes: -removed)
    return (row, endsBody)
  }

  private static func addToTotal(_ db: Database, isKept: Bool, entries: Int, bytes: Int64) throws {
    try db.cachedStatement(sql: "UPDATE total SET entries = entries + ?, bytes = bytes + ? WHERE isKept = ?")
      .execute(arguments: [entries, bytes, isKept])
  }
}
