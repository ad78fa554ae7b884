import GRDB

/// The tables of `responses.sqlite`. All of it can be made anew from the files.
enum ResponseSchema {
  /// In `PRAGMA user_version`.
  static let version = 3

  static func create(_ db: Database) throws {
    try db.execute(
      sql: """
        CREATE TABLE response (
          id INTEGER PRIMARY KEY,
          key TEXT NOT NULL,
          front BLOB NOT NULL,
          fileSize INTEGER NOT NULL,
          body BLOB,
          isKept INTEGER NOT NULL,
          storedAt REAL NOT NULL,
          usedAt INTEGER NOT NULL,
          staleAt INTEGER NOT NULL);
        CREATE INDEX responseByKey ON response (key);
        CREATE INDEX responseByUse ON response (isKept, usedAt);
        CREATE TABLE body (
          digest BLOB NOT NULL,
          isKept INTEGER NOT NULL,
          size INTEGER NOT NULL,
          entries INTEGER NOT NULL,
          PRIMARY KEY (digest, isKept)) WITHOUT ROWID;
        CREATE TABLE total (isKept INTEGER PRIMARY KEY, entries INTEGER NOT NULL, bytes INTEGER NOT NULL);
        INSERT INTO total VALUES (0, 0, 0), (1, 0, 0);
        CREATE TABLE kept (key TEXT PRIMARY KEY) WITHOUT ROWID;
        CREATE TABLE change (number INTEGER NOT NULL, writer INTEGER NOT NULL, before INTEGER NOT NULL);
        INSERT INTO change SELECT number, 0, number FROM (SELECT ABS(RANDOM() / 4) AS number);
        """)
    try ResponseTags.create(db)
    try db.execute(sql: "PRAGMA user_version = \(version)")
  }

  /// Brings tables of an older PageKit up to date.
  ///
  /// - Parameter found: their version.
  static func update(_ db: Database, from found: Int) throws {
    guard found < version else { return }
    if found < 2 {
      // There were no tags.
      try ResponseTags.create(db)
      let ids = try Int64.fetchAll(db, sql: "SELECT id FROM response")
      for id in ids { if let row = try ResponseRow.fetch(db, id: id) { try ResponseTags.insert(db, row.entry) } }
    }
    // Until 3 every front was JSON, which is still read.
    try db.execute(sql: "PRAGMA user_version = \(version)")
  }
}
