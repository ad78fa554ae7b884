import DiskStorage
import Foundation
import GRDB
import HTTPTransport

/// The tables of `store.sqlite`, and the migrations from older versions.
enum Schema {
  /// The version in `PRAGMA user_version`, which is informative: the migrations decide, and each version adds one.
  static let version = 2

  /// The columns of each table after all migrations.
  static let expected = Result<[String: Set<String>], any Error> {
    let database = try DatabaseQueue()
    try migrator.migrate(database)
    return try database.read { try contents($0).columns }
  }

  /// The tables, columns and migrations of a database.
  static func contents(_ db: Database) throws -> DatabaseIdentity.Contents {
    let tables = try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'")
      .filter { !$0.hasPrefix("sqlite_") && $0 != "grdb_migrations" }
    var contents = DatabaseIdentity.Contents(columns: [:], migrations: [])
    for table in tables { contents.columns[table] = Set(try db.columns(in: table).map(\.name)) }
    if try db.tableExists("grdb_migrations") {
      contents.migrations = try String.fetchAll(db, sql: "SELECT identifier FROM grdb_migrations")
    }
    return contents
  }

  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1: sources, releases, entries, blobs") { db in
      try db.execute(
        sql: """
          CREATE TABLE blob (
            sha256 BLOB PRIMARY KEY NOT NULL CHECK (length(sha256) = 32),
            md5 BLOB NOT NULL CHECK (length(md5) = 16),
            size INTEGER NOT NULL,
            inode INTEGER NOT NULL,
            modified INTEGER NOT NULL,
            storedAt REAL NOT NULL
          ) WITHOUT ROWID;

          CREATE TABLE source (
            id INTEGER PRIMARY KEY,
            url TEXT NOT NULL UNIQUE,
            current INTEGER REFERENCES "release"(id),
            previous INTEGER REFERENCES "release"(id)
          );

          CREATE TABLE "release" (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            source INTEGER NOT NULL REFERENCES source(id),
            name TEXT NOT NULL,
            sequence INTEGER NOT NULL,
            manifest BLOB NOT NULL,
            digest BLOB NOT NULL,
            etag TEXT,
            lastModified TEXT,
            registeredAt REAL NOT NULL,
            activatedAt REAL,
            UNIQUE (source, digest)
          );

          CREATE TABLE entry (
            "release" INTEGER NOT NULL REFERENCES "release"(id) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            kind TEXT NOT NULL,
            name TEXT NOT NULL,
            url TEXT NOT NULL,
            size INTEGER,
            md5 BLOB NOT NULL,
            sha256 BLOB,
            preload TEXT NOT NULL,
            prefetch TEXT,
            blob BLOB REFERENCES blob(sha256),
            PRIMARY KEY ("release", position)
          ) WITHOUT ROWID;
          CREATE INDEX entryByMD5 ON entry(md5, "release");
          CREATE INDEX entryByURL ON entry(url);
          CREATE INDEX entryByBlob ON entry(blob);

          CREATE TABLE unlisted (
            url TEXT PRIMARY KEY NOT NULL,
            blob BLOB NOT NULL REFERENCES blob(sha256),
            storedAt REAL NOT NULL
          ) WITHOUT ROWID;
          CREATE INDEX unlistedByBlob ON unlisted(blob);
          """)
    }
    migrator.registerMigration("2: held releases, unlisted use, optional entries") { db in
      try db.execute(
        sql: """
          ALTER TABLE source ADD COLUMN heldSince REAL;
          ALTER TABLE source ADD COLUMN usedAt REAL NOT NULL DEFAULT 0;
          ALTER TABLE unlisted ADD COLUMN usedAt REAL NOT NULL DEFAULT 0;
          ALTER TABLE entry ADD COLUMN isOptional INTEGER NOT NULL DEFAULT 0;
          UPDATE source SET usedAt =
            COALESCE((SELECT MAX(MAX(registeredAt, COALESCE(activatedAt, 0))) FROM "release" WHERE source = source.id), 0);
          UPDATE unlisted SET usedAt = storedAt;
          """)
      // Manifests of Eros (`filesMd5`) and weexbox (a list), whose digests of files may be wrong.
      try db.execute(
        sql: """
          UPDATE entry SET isOptional = 1 WHERE kind = 'file' AND "release" IN (
            SELECT id FROM "release"
            WHERE instr(CAST(manifest AS TEXT), '"filesMd5"') > 0
              OR substr(ltrim(CAST(manifest AS TEXT), char(9, 10, 13, 32, 65279)), 1, 1) = '[')
          """)
    }
    return migrator
  }
}
