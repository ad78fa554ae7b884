import DiskStorage
import Foundation
import GRDB
import HTTPTransport
import SystemPackage

/// `store.sqlite`: opened, migrated, and set up so that a commit survives a power failure.
struct StoreDatabase: Sendable {
  private let path: String
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
      self.path = path
      reader = pool
      writer = pool
    } catch {
      throw Self.storeError(error, path: path)
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
      self.path = path
      wasMade = false
      reader = queue
      writer = nil
    } catch {
      throw Self.storeError(error, path: path)
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
      throw Self.storeError(error, path: path)
    }
  }

  /// Converts errors of the database to ``StoreError``; leaves others unchanged.
  func storeError(_ error: any Error) -> any Error { Self.storeError(error, path: path) }

  private static func storeError(_ error: any Error, path: String) -> any Error {
    (error as? DatabaseError).map { StoreError($0, path: path) } ?? error
  }
}
