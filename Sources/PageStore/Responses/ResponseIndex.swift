import Foundation
import GRDB
import Logging
import PageCore
import Synchronization
import SystemPackage

/// `responses.sqlite`: which responses there are. Where it is damaged, or was written by a newer PageKit, it is put
/// aside and made anew from the files.
final class ResponseIndex: Sendable {
  private let directory: ResponseDirectory
  private let logger: Logger
  private let pool: Mutex<DatabasePool>
  /// Changes made here.
  private let ownChanges = Atomic<Int64>(0)

  init(_ directory: ResponseDirectory, logger: Logger) throws {
    self.directory = directory
    self.logger = logger
    pool = Mutex(try Self.open(directory, logger: logger))
  }

  func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
    try recovering { try $0.read(body) }
  }

  func write<Value>(_ body: (Database) throws -> Value) throws -> Value {
    try recovering { pool in
      let value = try pool.write { db in
        let value = try body(db)
        try db.cachedStatement(sql: "UPDATE change SET count = count + 1").execute()
        return value
      }
      ownChanges.add(1, ordering: .relaxed)
      return value
    }
  }

  /// Changes that were not made here.
  func foreignChanges() -> Int64 {
    let own = ownChanges.load(ordering: .relaxed)
    let all = try? pool.withLock(\.self).read { db in
      try Int64.fetchOne(db.cachedStatement(sql: "SELECT count FROM change"))
    }
    return (all ?? nil ?? 0) - own
  }

  private func recovering<Value>(_ body: (DatabasePool) throws -> Value) throws -> Value {
    let current = pool.withLock(\.self)
    do {
      return try body(current)
    } catch let error as DatabaseError where [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode) {
      let fresh = try pool.withLock { pool in
        // Another thread may have been first.
        if pool === current {
          try? pool.close()
          try Self.putAside(directory, "damaged", error.message ?? "it is no database", logger)
          pool = try Self.open(directory, logger: logger)
        }
        return pool
      }
      return try body(fresh)
    } catch let error as DatabaseError {
      throw StoreError(error, path: directory.database.string)
    }
  }

  // MARK: Opening

  private static func open(_ directory: ResponseDirectory, logger: Logger) throws -> DatabasePool {
    try directory.create()
    return try StoreLock(path: directory.lock).with(.exclusive) {
      do {
        return try openLocked(directory, logger)
      } catch let error as DatabaseError where [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode) {
        try putAside(directory, "damaged", error.message ?? "it is no database", logger)
        return try openLocked(directory, logger)
      } catch let error as DatabaseError {
        throw StoreError(error, path: directory.database.string)
      }
    }
  }

  private static func openLocked(_ directory: ResponseDirectory, _ logger: Logger) throws -> DatabasePool {
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    var pool = try DatabasePool(path: directory.database.string, configuration: configuration)
    let found = try pool.read { db in
      _ = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM sqlite_schema")
      return try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
    }
    if found > ResponseSchema.version {
      try pool.close()
      try putAside(directory, "newer", "format \(found), this PageKit knows \(ResponseSchema.version)", logger)
      pool = try DatabasePool(path: directory.database.string, configuration: configuration)
    }
    if try pool.read({ try !$0.tableExists("response") }) {
      try pool.write { db in
        try ResponseSchema.create(db)
        let count = try ResponseRebuild(directory: directory).run(db)
        if count > 0 { logger.notice("the index of responses was built anew from \(count) files") }
      }
    }
    return pool
  }

  private static func putAside(
    _ directory: ResponseDirectory, _ why: String, _ reason: String, _ logger: Logger
  ) throws {
    let aside = "\(directory.database.string).\(why)-\(UUID().uuidString)"
    logger.error("the index of responses is \(why) (\(reason)); it is kept as \(aside), and a new one is made")
    try FileSystem.rename(directory.database, to: FilePath(aside))
    for suffix in ["-wal", "-shm"] { FileSystem.remove(FilePath(directory.database.string + suffix)) }
  }
}
