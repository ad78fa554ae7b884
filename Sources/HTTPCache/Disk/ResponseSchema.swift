import GRDB

/// The tables of `responses.sqlite`.
enum ResponseSchema {
  /// In `PRAGMA user_version`. Of an older version only what is kept is taken over, from its files.
  static let version = 4

  /// - Parameter db: a database without tables.
  static func create(_ db: Database) throws {
    try db.execute(
      sql: """
        CREATE TABLE response (
          id INTEGER PRIMARY KEY,
          key TEXT NOT NULL,
          front BLOB NOT NULL,
          size INTEGER NOT NULL,
          body BLOB,
          isKept INTEGER NOT NULL,
          storedAt REAL NOT NULL,
          usedAt INTEGER NOT NULL,
          staleAt INTEGER NOT NULL,
          bytes BLOB);
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
    try ResponseVariants.create(db)
    try db.execute(sql: "PRAGMA user_version = \(version)")
  }
}
