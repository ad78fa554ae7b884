import Blobs
import Foundation
import GRDB
import HTTPTransport

/// The tables of `store.sqlite`, and the migrations from older versions.
enum Schema {
  /// The version in `PRAGMA user_version`, which is informative: the migrations decide, and each version adds one.
  static let version = 9

  /// The last release of an entry that no newer release has dropped.
  static let endless = Int64.max

  /// The columns of each table after all migrations; a test compares them with what the migrations make.
  static let expected: [String: Set<String>] = [
    "blob": ["sha256", "md5", "size", "inode", "modified", "storedAt"],
    "source": [
      "id", "url", "current", "previous", "heldSince", "usedAt", "root", "trustedSequence", "audience",
      "chosenBy", "chosenBySequence", "statusSequence", "withheld",
    ],
    "release": [
      "id", "source", "name", "sequence", "manifest", "digest", "etag", "lastModified", "registeredAt", "activatedAt",
      "checked", "signedAt", "expiresAt", "signatures", "standing",
    ],
    "listed": [
      "source", "first", "last", "position", "kind", "name", "url", "size", "md5", "sha256", "preload", "prefetch",
      "blob", "isOptional", "location",
    ],
    "unlisted": ["url", "blob", "storedAt", "usedAt"],
    "root": ["source", "version", "bytes", "signatures"],
    "trial": ["release", "page", "failures", "hasPassed", "opening"],
    "install": ["id"],
    "failed": ["source", "contents", "name", "sequence", "kind", "page", "message", "failures", "since"],
    "status": ["source", "isTrusted", "bytes", "signatures", "etag", "lastModified"],
    "disabled": ["source", "name", "message"],
    "report": ["source", "contents", "body"],
    "tally": ["id", "contents", "good", "bad", "haltedAt", "otherwise"],
    "counted": ["tally", "install"],
    "signedStatus": ["source", "sequence"],
  ]

  /// The tables, columns and migrations of a database.
  static func contents(_ db: Database) throws -> DatabaseIdentity.Contents {
    // One statement: each launch asks.
    let columns = try db.rows(
      """
      SELECT item.name AS item, info.name AS info FROM sqlite_schema AS item, pragma_table_info(item.name) AS info
      WHERE item.type = 'table' AND item.name NOT LIKE 'sqlite~_%' ESCAPE '~'
      """
    ) { (table: try $0.value("item") as String, name: try $0.value("info") as String) }
    var contents = DatabaseIdentity.Contents(columns: [:], migrations: [])
    for (table, name) in columns { contents.columns[table, default: []].insert(name) }
    if contents.columns.removeValue(forKey: "grdb_migrations") != nil {
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
    migrator.registerMigration("3: entries of several releases, checked files") { db in
      // A row belongs to the releases of its source from `first` to `last`, so that a release with one changed bundle
      // adds one row. `checked` has the last look at the files of a complete release.
      try db.execute(
        sql: """
          CREATE TABLE listed (
            source INTEGER NOT NULL REFERENCES source(id),
            first INTEGER NOT NULL,
            last INTEGER NOT NULL,
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
            isOptional INTEGER NOT NULL,
            PRIMARY KEY (source, position, first)
          ) WITHOUT ROWID;
          INSERT INTO listed
            SELECT "release".source, "release".id,
              CASE "release".id
                WHEN (SELECT MAX(id) FROM "release" AS newest WHERE newest.source = "release".source) THEN \(endless)
                ELSE "release".id
              END,
              position, kind, entry.name, entry.url, size, md5, sha256, preload, prefetch, blob, isOptional
            FROM entry JOIN "release" ON "release".id = entry."release"
            ORDER BY "release".source, position, "release".id;
          DROP TABLE entry;
          CREATE INDEX listedByMD5 ON listed(md5, source);
          CREATE INDEX listedByURL ON listed(url);
          CREATE INDEX listedByBlob ON listed(blob);
          CREATE INDEX listedWithPrefetch ON listed(source) WHERE prefetch IS NOT NULL;
          CREATE TRIGGER releaseRemoved AFTER DELETE ON "release" BEGIN
            DELETE FROM listed WHERE source = OLD.source
              AND first > COALESCE((SELECT MAX(id) FROM "release" WHERE source = OLD.source AND id < OLD.id), 0)
              AND last <= COALESCE(
                (SELECT MIN(id) FROM "release" WHERE source = OLD.source AND id > OLD.id) - 1, \(endless));
          END;
          ALTER TABLE "release" ADD COLUMN checked TEXT;
          """)
    }
    migrator.registerMigration("4: signed releases") { db in
      // `expiresAt` is NULL for a release whose signatures were not checked.
      try db.execute(
        sql: """
          ALTER TABLE source ADD COLUMN root BLOB;
          ALTER TABLE source ADD COLUMN trustedSequence INTEGER;
          ALTER TABLE "release" ADD COLUMN signedAt INTEGER;
          ALTER TABLE "release" ADD COLUMN expiresAt INTEGER;
          """)
    }
    migrator.registerMigration("5: signatures and roots to pass on") { db in
      try db.execute(
        sql: """
          ALTER TABLE "release" ADD COLUMN signatures BLOB;
          CREATE TABLE root (
            source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
            version INTEGER NOT NULL,
            bytes BLOB NOT NULL,
            signatures BLOB,
            PRIMARY KEY (source, version)
          ) WITHOUT ROWID;
          """)
    }
    migrator.registerMigration("6: trials of releases") { db in
      // Releases that became current before were in use, and there was nothing to go back from.
      try db.execute(
        sql: """
          ALTER TABLE "release" ADD COLUMN standing TEXT NOT NULL DEFAULT 'trial';
          UPDATE "release" SET standing = 'good' WHERE id IN (SELECT current FROM source);
          CREATE TABLE trial (
            "release" INTEGER NOT NULL REFERENCES "release"(id) ON DELETE CASCADE,
            page BLOB NOT NULL,
            failures INTEGER NOT NULL,
            hasPassed INTEGER NOT NULL,
            opening TEXT NOT NULL,
            PRIMARY KEY ("release", page)
          ) WITHOUT ROWID;
          ALTER TABLE source ADD COLUMN audience TEXT NOT NULL DEFAULT '';
          ALTER TABLE source ADD COLUMN chosenBy BLOB;
          ALTER TABLE source ADD COLUMN chosenBySequence INTEGER;
          CREATE TABLE install (id TEXT NOT NULL);
          CREATE TABLE failed (
            source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
            contents BLOB NOT NULL,
            name TEXT NOT NULL,
            sequence INTEGER NOT NULL,
            kind TEXT,
            page TEXT,
            message TEXT,
            failures INTEGER NOT NULL,
            since REAL NOT NULL,
            PRIMARY KEY (source, contents)
          ) WITHOUT ROWID;
          """)
    }
    migrator.registerMigration("7: online status") { db in
      // `isTrusted` is 1 for the status whose signatures were checked, 0 for one that is only passed on. `disabled` has
      // what the trusted one says, and `withheld` the SHA-256 of the manifest that it keeps hosts from.
      try db.execute(
        sql: """
          ALTER TABLE source ADD COLUMN statusSequence INTEGER;
          ALTER TABLE source ADD COLUMN withheld BLOB;
          CREATE TABLE status (
            source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
            isTrusted INTEGER NOT NULL,
            bytes BLOB NOT NULL,
            signatures BLOB,
            etag TEXT,
            lastModified TEXT,
            PRIMARY KEY (source, isTrusted)
          ) WITHOUT ROWID;
          CREATE TABLE disabled (
            source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
            name TEXT NOT NULL,
            message TEXT NOT NULL,
            PRIMARY KEY (source, name)
          ) WITHOUT ROWID;
          """)
    }
    migrator.registerMigration("8: reports") { db in
      // `report` has what this install has not sent yet. `tally` and `counted` are a publisher's: the reports of each
      // release with the manifest that takes its place where it is halted, and the installs that they are of.
      // `signedStatus` has the sequence of the last status that it has signed.
      try db.execute(
        sql: """
          CREATE TABLE report (
            source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
            contents BLOB NOT NULL,
            body BLOB NOT NULL,
            PRIMARY KEY (source, contents)
          ) WITHOUT ROWID;
          CREATE TABLE tally (
            id INTEGER PRIMARY KEY,
            contents BLOB NOT NULL UNIQUE,
            good INTEGER NOT NULL DEFAULT 0,
            bad INTEGER NOT NULL DEFAULT 0,
            haltedAt REAL,
            otherwise TEXT
          );
          CREATE TABLE counted (
            tally INTEGER NOT NULL REFERENCES tally(id) ON DELETE CASCADE,
            install BLOB NOT NULL,
            PRIMARY KEY (tally, install)
          ) WITHOUT ROWID;
          CREATE TABLE signedStatus (
            source INTEGER PRIMARY KEY REFERENCES source(id) ON DELETE CASCADE,
            sequence INTEGER NOT NULL
          );
          """)
    }
    migrator.registerMigration("9: contents at URLs of their own") { db in
      // NULL for a content that is fetched from its entry's URL.
      try db.execute(sql: "ALTER TABLE listed ADD COLUMN location TEXT")
    }
    return migrator
  }
}
