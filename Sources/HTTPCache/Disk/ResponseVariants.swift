import DiskStorage
import GRDB
import HTTPCaching
import HTTPTypes

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
