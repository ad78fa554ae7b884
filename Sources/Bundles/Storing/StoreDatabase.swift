import Blobs
import Foundation
import GRDB
import HTTPTransport
import Logging
import SystemPackage

/// `store.sqlite`: opened, migrated, and set up so that a commit survives a power failure.
final class StoreDatabase: Sendable {
  /// `true` if the file did not exist before.
  let wasMade: Bool
  let reader: any DatabaseReader
  /// `nil` for a store that can only be read.
  let writer: (any DatabaseWriter)?

  /// Opens the file for reading and writing, and makes it if it does not exist.
  ///
  /// - Parameter lock: held while the file is opened; exclusively if the file is made or migrated, since SQLite's own
  ///   locks do not prevent two processes from doing this one after the other.
  init(writing path: String, lock: StoreLock) throws {
    do {
      let isNew = (FileStatus(ofLink: path)?.size ?? 0) == 0
      let opened = try lock.with(isNew ? .exclusive : .shared) { try Self.open(path, migrating: isNew) }
      let pool =
        opened.isCurrent ? opened.pool : try lock.with(.exclusive) { try Self.open(path, migrating: true).pool }
      wasMade = isNew
      reader = pool
      writer = pool
    } catch {
      throw error.storeError(at: path)
    }
  }

  private static func open(_ path: String, migrating: Bool) throws -> (pool: DatabasePool, isCurrent: Bool) {
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    let pool = try DatabasePool(path: path, configuration: configuration)
    let contents = try judge(pool, path: path)
    let isCurrent = !needsMigration(contents)
    if migrating, !isCurrent {
      try Schema.migrator.migrate(pool)
      try pool.write { db in
        try db.execute(sql: "PRAGMA user_version = \(Schema.version)")
        // A process may still use a release of an earlier database: its number must not be reused.
        if contents.isEmpty {
          let first = Int64(Date().timeIntervalSince1970 * 1000)
          try db.execute(sql: "INSERT INTO sqlite_sequence (name, seq) VALUES ('release', ?)", arguments: [first])
        }
      }
    }
    // Outside a transaction, and after opening, which sets it to NORMAL.
    try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
    return (pool, isCurrent || migrating)
  }

  /// Opens an existing store for reading only. A store of an older version is copied to memory and migrated there.
  ///
  /// - Throws: ``StoreError``; ``StoreError/absent(path:)`` if the database has no tables, because the process that
  ///   made it ended too early.
  init(reading path: String) throws {
    // Opening a FIFO would block.
    if let found = FileStatus(ofLink: path), found.kind != .file {
      throw StoreError.damagedDatabase(path: path, reason: "it is not a regular file")
    }
    do {
      var configuration = Configuration()
      configuration.readonly = true
      configuration.busyMode = .timeout(10)
      var queue = try Self.openReadOnly(path, configuration)
      let contents = try Self.judge(queue, path: path)
      guard contents.columns["source"] != nil else {
        throw StoreError.absent(path: FilePath(path).removingLastComponent().string)
      }
      if Self.needsMigration(contents) {
        let copy = try DatabaseQueue()
        try queue.backup(to: copy)
        try Schema.migrator.migrate(copy)
        queue = copy
      }
      wasMade = false
      reader = queue
      writer = nil
    } catch {
      throw error.storeError(at: path)
    }
  }

  private static func openReadOnly(_ path: String, _ configuration: Configuration) throws -> DatabaseQueue {
    do {
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      _ = try queue.read { try Int.fetchOne($0, sql: "PRAGMA user_version") }
      return queue
    } catch let error as DatabaseError where [.SQLITE_CANTOPEN, .SQLITE_READONLY].contains(error.resultCode) {
      // On a read-only medium SQLite cannot use the log; no process can change the file there either.
      return try DatabaseQueue(path: "file:\(path)?immutable=1", configuration: configuration)
    }
  }

  private static func needsMigration(_ contents: DatabaseIdentity.Contents) -> Bool {
    !Set(contents.migrations).isSuperset(of: Schema.migrator.migrations)
  }

  /// - Throws: ``StoreError`` unless the database is a store's or empty.
  private static func judge(
    _ reader: some DatabaseReader, path: String
  ) throws -> DatabaseIdentity.Contents {
    let contents = try reader.read { try Schema.contents($0) }
    switch DatabaseIdentity(of: contents, known: Schema.migrator.migrations, expected: Schema.expected) {
    case .empty, .ours: break
    case .newer:
      let found = try reader.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } ?? 0
      throw StoreError.newerVersion(path: path, found: found, supported: Schema.version)
    case .damaged(let reason): throw StoreError.damagedDatabase(path: path, reason: reason)
    case .foreign: throw StoreError.foreignDatabase(path: path)
    }
    return contents
  }

  /// - Parameter directory: the store's directory, for the error.
  func writer(of directory: StoreDirectory) throws -> any DatabaseWriter {
    guard let writer else {
      throw StoreError.notWritable(path: directory.path, reason: "it was opened for reading only")
    }
    return writer
  }

  /// Refuses another program's database, before any file is made beside it.
  static func refuseForeign(_ path: FilePath) throws {
    guard let found = FileStatus(ofLink: path.string) else { return }
    guard found.kind == .file else { throw StoreError.foreignDatabase(path: path.string) }
    guard found.size > 0 else { return }
    do {
      _ = try StoreDatabase(reading: path.string)
    } catch StoreError.damagedDatabase, StoreError.absent {
      // It may be a damaged database of a store: it is put aside and kept.
    }
  }

  /// Copies the whole database to a new file.
  func copy(to path: String) throws {
    do {
      let target = try DatabaseQueue(path: path)
      try reader.backup(to: target)
      try target.close()
    } catch {
      throw error.storeError(at: path)
    }
  }
}

/// Opens the database; if it is damaged or gone, makes a new one with the blobs that are on disk.
///
/// Releases return with the next manifest; entries with a SHA-256 need not be fetched again.
struct Recovery {
  let directory: StoreDirectory
  /// `true` if the folder was a store before: only then another program's database is put aside.
  let wasStore: Bool
  let blobs: BlobDirectory
  let lock: StoreLock
  let logger: Logger

  /// Returns a keeper of the open database.
  ///
  /// - Throws: ``StoreError``.
  func keeper() throws -> DatabaseKeeper<StoreDatabase> {
    let keeper = DatabaseKeeper(of: directory.databaseFile) { wasRemoved in
      if wasRemoved {
        logger.error(
          "the store \(directory.path) was removed or replaced while it was in use; what is missing is fetched again")
        try directory.create()
      }
      return try openDatabase()
    }
    _ = try keeper.current()
    return keeper
  }

  private func openDatabase() throws -> StoreDatabase {
    let path = directory.database.string
    do {
      if let found = FileSystem.status(directory.databaseFile), found.kind != .file {
        throw StoreError.damagedDatabase(path: path, reason: "it is not a regular file")
      }
      // If the log were a link, SQLite would write to the link's target.
      for log in FileSystem.logs(of: directory.databaseFile) { try directory.makeWay(for: .file, at: log) }
      FileSystem.makeLog(of: directory.databaseFile)
      let database = try StoreDatabase(writing: path, lock: lock)
      if database.wasMade { try takeInBlobs(database) }
      return database
    } catch StoreError.damagedDatabase(_, let reason) {
      return try openedAnew(reason)
    } catch StoreError.foreignDatabase where wasStore {
      return try openedAnew("it is another program's")
    }
  }

  private func openedAnew(_ reason: String) throws -> StoreDatabase {
    try lock.with(.exclusive) { try putAside(reason) }
    let database = try StoreDatabase(writing: directory.database.string, lock: lock)
    try takeInBlobs(database)
    return database
  }

  /// Puts the database aside while the lock is held exclusively.
  func putAside(_ reason: String) throws {
    let aside = directory.databaseFile.extended(by: ".damaged-\(UUID().uuidString)")
    logger.error("the database was damaged (\(reason)); it is kept as \(aside), and a new one is made")
    try FileSystem.putAside(database: directory.databaseFile, as: aside)
  }

  private func takeInBlobs(_ database: StoreDatabase) throws {
    let found = blobs.all().compactMap { file in file.digest.flatMap { blobs.identify($0, at: file.path) } }
    guard !found.isEmpty else { return }
    try lock.with(.shared) {
      try database.writer?.write { db in
        for (blob, status) in found { try BlobRecord(blob: blob, status: status).save(db) }
      }
    }
    logger.notice("took in \(found.count) blobs that were there")
  }
}

/// Bytes in the store, named by their SHA-256.
package typealias Blob = ContentDigests

/// A row of the table `blob`: the blob, and its file's inode and modification time when it was written.
struct BlobRecord {
  let blob: Blob
  let inode: Int64
  /// The file's modification time in nanoseconds since 1970.
  let modified: Int64

  init(blob: Blob, status: FileStatus) {
    self.blob = blob
    inode = Int64(bitPattern: status.inode)
    modified = status.modified
  }

  init(blob: Blob, inode: Int64, modified: Int64) {
    (self.blob, self.inode, self.modified) = (blob, inode, modified)
  }

  init(_ row: Row) throws {
    blob = try Blob(md5: row.value("md5"), sha256: row.value("sha256"), size: row.value("size"))
    inode = try row.value("inode")
    modified = try row.value("modified")
  }

  static func fetch(_ db: Database, where condition: String, _ arguments: [SHA256Digest]) throws -> [BlobRecord] {
    try db.rows("SELECT * FROM blob WHERE \(condition)", StatementArguments(arguments)) { try BlobRecord($0) }
  }

  func save(_ db: Database) throws {
    let statement = try db.cachedStatement(
      sql: """
        INSERT INTO blob (sha256, md5, size, inode, modified, storedAt) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (sha256) DO UPDATE SET inode = excluded.inode, modified = excluded.modified
        """)
    try statement.execute(
      arguments: [blob.sha256, blob.md5, blob.size, inode, modified, Date().timeIntervalSince1970])
  }

  /// The state of the file, as far as it is known without reading it.
  enum Condition {
    case untouched
    /// The file was written, replaced or restored: its bytes must be checked.
    case touched
    case missing
  }

  func condition(in directory: BlobDirectory) -> Condition {
    condition(FileSystem.status(directory.path(of: blob.sha256)))
  }

  /// - Parameter status: the status of the file; `nil` if it does not exist.
  func condition(_ status: FileStatus?) -> Condition {
    // A link, a folder or a FIFO at the path does not count.
    guard let status, status.kind == .file else { return .missing }
    return status.isUnchanged(size: blob.size, inode: inode, modified: modified) ? .untouched : .touched
  }

  /// Returns `true` if the file exists and, if it was touched, still has the right bytes.
  func isInPlace(in directory: BlobDirectory) -> Bool {
    switch condition(in: directory) {
    case .untouched: true
    case .touched: (try? directory.read(blob)) != nil
    case .missing: false
    }
  }
}
