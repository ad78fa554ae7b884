import Blobs
import Foundation
import GRDB
import HTTPCaching
import HTTPTransport
import HTTPTypes

/// A row of `response`, and what goes with it in the other tables.
///
/// Nothing in a damaged database may end the process: every value is decoded with an error where it cannot be.
struct ResponseRow {
  let entry: ResponseEntry
  /// The shared file its bytes are in; `nil` if they are in its own, or in the row.
  let body: SHA256Digest?
  /// Microseconds since 1970. It may be too early: ``ResponseUses``.
  let usedAt: Int64

  var id: Int64 { entry.id }
  var isKept: Bool { entry.isKept }

  /// Returns `nil` if the row does not describe a response.
  ///
  /// - Throws: where it is not what was written.
  private init?(_ row: Row) throws {
    try self.init(
      front: Array(try row.decode(Data.self, forColumn: "front")),
      isKept: try row.decode(Bool.self, forColumn: "isKept"), id: try row.decode(Int64.self, forColumn: "id"),
      usedAt: try row.decode(Int64.self, forColumn: "usedAt"))
  }

  private init?(front: [UInt8], isKept: Bool, id: Int64, usedAt: Int64) throws {
    guard let sealed = ResponseFileHeader.open(front) else {
      throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "what is known of a response was changed")
    }
    guard let header = sealed.header(isKept: isKept), id == header.entry.id else { return nil }
    entry = header.entry
    self.usedAt = usedAt
    body = header.isInline ? nil : entry.digest
  }

  /// Makes the responses of a key from its rows, as ``fetch(_:key:)`` gives them, with the bytes of those that were chosen
  /// by the fields of a request.
  ///
  /// - Throws: if a row or those bytes are not what was written.
  static func responses(
    _ rows: [PromptReader.Columns], of key: CacheKey, for fields: HTTPFields
  ) throws -> [FoundResponse] {
    let rows = rows.sorted { ($0.storedAt, $0.usedAt) < ($1.storedAt, $1.usedAt) }
    return try rows.compactMap { row -> FoundResponse? in
      let made = try ResponseRow(front: row.front, isKept: row.isKept, id: row.id, usedAt: row.usedAt)
      guard let entry = made?.entry, entry.key == key else { return nil }
      guard entry.isInRow, entry.head.vary.matches(fields) else { return (entry, nil) }
      // No bytes are NULL to SQLite.
      let bytes = row.bytes ?? (entry.head.extent.count == 0 ? [] : nil)
      return (entry, try bytes.map { try StoredResponseBody.checked($0, of: entry) })
    }
  }

  /// In the order in which they were stored.
  static func fetch(
    _ db: Database, where condition: String, _ arguments: StatementArguments
  ) throws -> [ResponseRow] { try found(db, where: condition, arguments).compactMap(\.self) }

  /// The same, with `nil` for rows that cannot be read.
  private static func found(
    _ db: Database, where condition: String, _ arguments: StatementArguments, limit: String = ""
  ) throws -> [ResponseRow?] {
    let sql = "SELECT id, isKept, usedAt, front FROM response WHERE \(condition) ORDER BY storedAt, usedAt\(limit)"
    return try db.rows(sql, arguments) { try ResponseRow($0) }
  }

  /// The rows behind an id, in the order of the ids; with `nil` for those that cannot be read.
  static func page(_ db: Database, after id: Int64, limit: Int) throws -> [(id: Int64, row: ResponseRow?)] {
    let sql = "SELECT id, isKept, usedAt, front FROM response WHERE id > ? ORDER BY id LIMIT ?"
    return try db.rows(sql, [id, limit]) { (try $0.decode(Int64.self, forColumn: "id"), try ResponseRow($0)) }
  }

  static func fetch(_ db: Database, id: Int64) throws -> ResponseRow? {
    try fetch(db, where: "id = ?", [id]).first
  }

  static func fetch(_ db: Database, key: CacheKey) throws -> [ResponseRow] {
    // SQLite ends a text at its first zero byte.
    try fetch(db, where: "key = ?", [key.description]).filter { $0.entry.key == key }
  }

  /// The same, without most of those that a request with these fields cannot choose: ``ResponseVariants``.
  static func fetch(_ db: Database, key: CacheKey, for request: HTTPFields) throws -> [ResponseRow] {
    try only(db, key: key) ?? fetch(db, ids: try ResponseVariants.ids(db, key: key, for: request), of: key)
  }

  /// The same, for those that may have been chosen by the same fields with the same values.
  static func fetch(_ db: Database, key: CacheKey, chosenBy vary: VaryKey) throws -> [ResponseRow] {
    try fetch(db, ids: try ResponseVariants.ids(db, key: key, chosenBy: vary), of: key)
  }

  /// The response of a key that has one, as most have, or none; `nil` if it has several.
  static func only(_ db: Database, key: CacheKey) throws -> [ResponseRow]? {
    let rows = try found(db, where: "key = ?", [key.description], limit: " LIMIT 2")
    return rows.count < 2 ? rows.compactMap(\.self).filter { $0.entry.key == key } : nil
  }

  private static func fetch(_ db: Database, ids: [Int64], of key: CacheKey) throws -> [ResponseRow] {
    try ids.compactMap { try fetch(db, id: $0) }.filter { $0.entry.key == key }
      .sorted { ($0.entry.storedAt, $0.usedAt) < ($1.entry.storedAt, $1.usedAt) }
  }

  /// The bytes that the row of a response holds; `nil` if there is no such row, or its bytes are in a file.
  ///
  /// - Throws: ``StoredResponseBody/Damage`` if they are not those that were stored.
  static func bytes(_ db: Database, of entry: ResponseEntry) throws -> [UInt8]? {
    let found = try db.firstRow("SELECT bytes FROM response WHERE id = ?", [entry.id]) {
      try $0.value("bytes") as Data?
    }
    // No bytes are NULL to SQLite.
    guard let data = found, let bytes = data ?? (entry.head.extent.count == 0 ? Data() : nil) else { return nil }
    return try StoredResponseBody.checked(Array(bytes), of: entry)
  }

  static func isStored(_ db: Database, id: Int64) throws -> Bool {
    try Int.fetchOne(db.cachedStatement(sql: "SELECT 1 FROM response WHERE id = ?"), arguments: [id]) != nil
  }

  // MARK: Changing

  /// Adds a response whose files are in place, or will be when the transaction ends.
  ///
  /// - Parameters:
  ///   - sealed: its header.
  ///   - bytes: those of its body, if they are short.
  static func insert(
    _ db: Database, _ entry: ResponseEntry, sealed: [UInt8], bytes: [UInt8]?, usedAt: Int64
  ) throws {
    let size = sealed.count + (bytes?.count ?? 0)
    let body = bytes == nil ? entry.digest : nil
    // What is kept has files of its own for both.
    let inRow = entry.isKept ? nil : bytes.map { Data($0) }
    try db.cachedStatement(
      sql: """
        INSERT INTO response (id, key, front, size, body, isKept, storedAt, usedAt, staleAt, bytes)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    ).execute(arguments: [
      entry.id, entry.key.description, Data(sealed), size, body, entry.isKept, entry.storedAt, usedAt,
      entry.head.staleAt, inRow,
    ])
    try ResponseTags.insert(db, entry)
    if !entry.head.vary.values.isEmpty { try ResponseVariants.save(db, entry) }
    var added = Int64(size)
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

  /// Gives a response another front.
  static func update(_ db: Database, _ entry: ResponseEntry, sealed: [UInt8], isInline: Bool) throws {
    let size = sealed.count + (isInline ? Int(entry.head.extent.count) : 0)
    let former = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT size FROM response WHERE id = ?"), arguments: [entry.id])
    try db.cachedStatement(sql: "UPDATE response SET front = ?, size = ?, staleAt = ? WHERE id = ?")
      .execute(arguments: [Data(sealed), size, entry.head.staleAt, entry.id])
    try ResponseTags.replace(db, entry)
    try ResponseVariants.save(db, entry)
    try addToTotal(db, isKept: entry.isKept, entries: 0, bytes: Int64(size) &- (former ?? 0))
  }

  /// Removes the response with this id.
  ///
  /// - Returns: whether it was kept, and its shared body if no other entry has it; `nil` if there was no such entry.
  static func delete(_ db: Database, id: Int64) throws -> (isKept: Bool, endedBody: SHA256Digest?)? {
    let statement = try db.cachedStatement(
      sql: "DELETE FROM response WHERE id = ? RETURNING isKept, body, size")
    guard let found = try Row.fetchOne(statement, arguments: [id]) else { return nil }
    let isKept = try found.decode(Bool.self, forColumn: "isKept")
    var removed = try found.decode(Int64.self, forColumn: "size")
    var endedBody: SHA256Digest?
    if let body = try found.decode(SHA256Digest?.self, forColumn: "body") {
      let left = try Row.fetchOne(
        db.cachedStatement(
          sql: "UPDATE body SET entries = entries - 1 WHERE digest = ? AND isKept = ? RETURNING entries, size"),
        arguments: [body, isKept])
      if let left, try left.decode(Int64.self, forColumn: "entries") <= 0 {
        endedBody = body
        removed &+= try left.decode(Int64.self, forColumn: "size")
        try db.cachedStatement(sql: "DELETE FROM body WHERE digest = ? AND isKept = ?")
          .execute(arguments: [body, isKept])
      }
    }
    try addToTotal(db, isKept: isKept, entries: -1, bytes: 0 &- removed)
    return (isKept, endedBody)
  }

  private static func addToTotal(_ db: Database, isKept: Bool, entries: Int, bytes: Int64) throws {
    try db.cachedStatement(sql: "UPDATE total SET entries = entries + ?, bytes = bytes + ? WHERE isKept = ?")
      .execute(arguments: [entries, bytes, isKept])
  }

  /// Bytes of files that may be evicted.
  static func evictableBytes(_ db: Database) throws -> Int64 {
    try Int64.fetchOne(db.cachedStatement(sql: "SELECT bytes FROM total WHERE isKept = 0")) ?? 0
  }

  /// Later than every other use in the index, whatever the clock does.
  static func nextUse(_ db: Database, at now: Int64) throws -> Int64 {
    let last = try Int64.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT MAX(last) FROM (SELECT MAX(usedAt) AS last FROM response WHERE isKept = 0
            UNION ALL SELECT MAX(usedAt) FROM response WHERE isKept = 1)
          """))
    return max(now, (last ?? .min) &+ 1)
  }
}

/// The table `variant`: the request fields that responses with `Vary` were chosen by, and a hash of their values, so that
/// of many variants of a key only those are read that a request may choose. Rows go with their response.
///
/// The schema has the same version as without it. Programs that do not know the table leave it alone, and a response
/// without a row here is read for every request.
enum ResponseVariants {
  static let table = "variant"

  static func create(_ db: Database) throws {
    try db.execute(
      sql: """
        CREATE TABLE IF NOT EXISTS \(table) (
          response INTEGER PRIMARY KEY REFERENCES response (id) ON DELETE CASCADE,
          names TEXT NOT NULL,
          hash INTEGER NOT NULL)
        """)
  }

  /// Records what a response is chosen by, also after it got another head.
  static func save(_ db: Database, _ entry: ResponseEntry) throws {
    let vary = entry.head.vary
    if vary.values.isEmpty {
      try db.cachedStatement(sql: "DELETE FROM \(table) WHERE response = ?").execute(arguments: [entry.id])
    } else {
      try db.cachedStatement(
        sql: """
          INSERT INTO \(table) (response, names, hash) VALUES (?, ?, ?)
          ON CONFLICT DO UPDATE SET names = excluded.names, hash = excluded.hash
          """
      ).execute(arguments: [entry.id, names(of: vary), hash(of: vary)])
    }
  }

  /// Returns the ids of a key's responses that a request may choose or have confirmed, and that of the newest response for
  /// each other set of fields.
  static func ids(_ db: Database, key: CacheKey, for request: HTTPFields) throws -> [Int64] {
    var wanted: [String: Int64] = [:]
    var chosen: [Int64] = []
    var chosenNames: Set<String> = []
    var others: [String: Int64] = [:]
    for row in try rows(db, key: key) {
      guard let names = row.names else {
        chosen.append(row.id)
        continue
      }
      let hash = wanted[names] ?? hash(of: VaryKey(names: names.split(separator: ",").map(String.init), request))
      wanted[names] = hash
      if row.hash == hash {
        chosen.append(row.id)
        chosenNames.insert(names)
      } else {
        others[names] = max(others[names] ?? .min, row.id)
      }
    }
    return chosen + others.filter { !chosenNames.contains($0.key) }.map(\.value)
  }

  /// Returns the ids of a key's responses that may have been chosen by the same fields with the same values.
  static func ids(_ db: Database, key: CacheKey, chosenBy vary: VaryKey) throws -> [Int64] {
    let (names, hash) = (names(of: vary), hash(of: vary))
    return try rows(db, key: key).filter { $0.names == nil || $0.names == names && $0.hash == hash }.map(\.id)
  }

  private static func rows(_ db: Database, key: CacheKey) throws -> [(id: Int64, names: String?, hash: Int64?)] {
    try db.rows(
      """
      SELECT response.id, names, hash FROM response LEFT JOIN \(table) ON \(table).response = response.id
      WHERE response.key = ?
      """, [key.description]
    ) { (id: try $0.value("id"), names: try $0.value("names"), hash: try $0.value("hash")) }
  }

  private static func names(of vary: VaryKey) -> String { vary.values.keys.sorted().joined(separator: ",") }

  /// The values of all fields but `Accept-Encoding`: a response may answer requests that accept other encodings.
  ///
  /// FNV-1a of 64 bits, since it is made for every response: equal hashes cost a reading, of at most
  /// ``ResponseCache/variantLimit`` responses, and choose nothing.
  private static func hash(of vary: VaryKey) -> Int64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    for (name, value) in vary.values.sorted(by: { $0.key < $1.key }) where name != "accept-encoding" {
      name.utf8.forEach(add)
      add(0)
      if let value {
        add(1)
        value.utf8.forEach(add)
      }
      add(0)
    }
    return Int64(bitPattern: hash)
  }
}

/// The table `tag`: which responses have which tags. Rows go with their response.
enum ResponseTags {
  static func create(_ db: Database) throws {
    try db.execute(
      sql: """
        CREATE TABLE tag (
          tag TEXT NOT NULL,
          response INTEGER NOT NULL REFERENCES response (id) ON DELETE CASCADE,
          PRIMARY KEY (tag, response)) WITHOUT ROWID;
        CREATE INDEX tagByResponse ON tag (response);
        """)
  }

  static func insert(_ db: Database, _ entry: ResponseEntry) throws {
    let tags = entry.head.tags
    guard !tags.isEmpty else { return }
    let statement = try db.cachedStatement(sql: "INSERT INTO tag (tag, response) VALUES (?, ?)")
    for tag in tags { try statement.execute(arguments: [tag, entry.id]) }
  }

  /// After a response got another head.
  static func replace(_ db: Database, _ entry: ResponseEntry) throws {
    try db.cachedStatement(sql: "DELETE FROM tag WHERE response = ?").execute(arguments: [entry.id])
    try insert(db, entry)
  }
}
