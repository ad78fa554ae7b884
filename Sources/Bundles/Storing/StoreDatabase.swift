import DiskStorage
import Foundation
import GRDB
import HTTPTransport
import SystemPackage

/// `store.sqlite`: opened, migrated, and set up so that a commit survives a power failure.
struct StoreDatabase: Sendable {
  private let path: String
  /// Whether there was none before.
  let wasMade: Bool
  let reader: any DatabaseReader
  /// Nil for a store that can only be read.
  let writer: (any DatabaseWriter)?

  /// Opens for reading and writing, making the file where there is none.
  ///
  /// - Parameter lock: held while the file is opened; exclusively where it must be made or migrated, since SQLite's own
  ///   locks do not keep two processes from doing that one after the other.
  init(writing path: String, lock: StoreLock) throws {
    do {
      let isNew = (FileStatus(ofLink: path)?.size ?? 0) == 0
      var pool = try lock.with(isNew ? .exclusive : .shared) { try Self.open(path, migrating: isNew) }
      wasMade = isNew
      if try Self.needsMigration(pool) {
        pool = try lock.with(.exclusive) { try Self.open(path, migrating: true) }
      }
      self.path = path
      reader = pool
      writer = pool
    } catch {
      throw Self.storeError(error, path: path)
    }
  }

  private static func open(_ path: String, migrating: Bool) throws -> DatabasePool {
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    let pool = try DatabasePool(path: path, configuration: configuration)
    let isEmpty = try judge(pool, path: path) == .empty
    if try migrating && needsMigration(pool) {
      try Schema.migrator.migrate(pool)
      try pool.write { db in
        try db.execute(sql: "PRAGMA user_version = \(Schema.version)")
        // A process may still view a release of a database that was here before: its number is never given again.
        if isEmpty {
          let first = Int64(Date().timeIntervalSince1970 * 1000)
          try db.execute(sql: "INSERT INTO sqlite_sequence (name, seq) VALUES ('release', ?)", arguments: [first])
        }
      }
    }
    // Outside a transaction, and after opening, which sets it to NORMAL.
    try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
    return pool
  }

  /// Opens a store that is there, for reading only. One of an older version is read in memory, as it would be migrated.
  ///
  /// - Throws: ``StoreError``; ``StoreError/absent(path:)`` where nothing was ever stored: who began to make the database
  ///   was ended before its tables were there.
  init(reading path: String) throws {
    // SQLite would wait for a FIFO.
    if let found = FileStatus(ofLink: path), found.kind != .file {
      throw StoreError.damagedDatabase(path: path, reason: "it is not a regular file")
    }
    do {
      var configuration = Configuration()
      configuration.readonly = true
      configuration.busyMode = .timeout(10)
      var queue = try Self.openReadOnly(path, configuration)
      _ = try Self.judge(queue, path: path)
      guard try queue.read({ try $0.tableExists("source") }) else {
        throw StoreError.absent(path: FilePath(path).removingLastComponent().string)
      }
      if try Self.needsMigration(queue) {
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
      // On a medium that cannot be written SQLite cannot share the log; nobody can change the file there either.
      return try DatabaseQueue(path: "file:\(path)?immutable=1", configuration: configuration)
    }
  }

  private static func needsMigration(_ reader: some DatabaseReader) throws -> Bool {
    try reader.read { try !Schema.migrator.hasCompletedMigrations($0) }
  }

  private static func judge(_ reader: some DatabaseReader, path: String) throws -> DatabaseIdentity {
    let identity = try reader.read { db in
      DatabaseIdentity(
        of: try Schema.contents(db), known: Schema.migrator.migrations, expected: try Schema.expected.get())
    }
    switch identity {
    case .empty, .ours: break
    case .newer:
      let found = try reader.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } ?? 0
      throw StoreError.newerVersion(path: path, found: found, supported: Schema.version)
    case .damaged(let reason): throw StoreError.damagedDatabase(path: path, reason: reason)
    case .foreign: throw StoreError.foreignDatabase(path: path)
    }
    return identity
  }

  /// - Parameter directory: the store's, for the error.
  func writer(of directory: StoreDirectory) throws -> any DatabaseWriter {
    guard let writer else {
      throw StoreError.notWritable(path: directory.path, reason: "it was opened for reading only")
    }
    return writer
  }

  /// Refuses a file that another program uses, before anything is made beside it.
  static func refuseForeign(_ path: FilePath) throws {
    guard let found = FileStatus(ofLink: path.string) else { return }
    guard found.kind == .file else { throw StoreError.foreignDatabase(path: path.string) }
    guard found.size > 0 else { return }
    do {
      _ = try StoreDatabase(reading: path.string)
    } catch StoreError.damagedDatabase, StoreError.absent {
      // It may have been one of ours: it is put aside, and kept.
    }
  }

  /// Writes all that is in it to a new file.
  func copy(to path: String) throws {
    do {
      let target = try DatabaseQueue(path: path)
      try reader.backup(to: target)
      try target.close()
    } catch {
      throw Self.storeError(error, path: path)
    }
  }

  /// The database's errors in words; all others as they are.
  func storeError(_ error: any Error) -> any Error { Self.storeError(error, path: path) }

  private static func storeError(_ error: any Error, path: String) -> any Error {
    (error as? DatabaseError).map { StoreError($0, path: path) } ?? error
  }
}
