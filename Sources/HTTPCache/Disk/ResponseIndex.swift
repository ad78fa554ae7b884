import DiskStorage
import Foundation
import GRDB
import HTTPTransport
import Logging
import Synchronization
import SystemPackage

/// `responses.sqlite`: which responses there are. Where it is damaged, or was written by a newer PageKit, it is put
/// aside and made anew from the files.
///
/// Files get and lose their final names only while a write is under way: its lock holds for all processes.
final class ResponseIndex: Sendable {
  private struct Opened {
    /// They are closed before the pool, which tidies up at its end.
    let readers: PromptReaders?
    let pool: DatabasePool
    let file: FileStatus?
  }

  private let directory: ResponseDirectory
  private let logger: Logger
  private let opened: Mutex<Opened?>
  /// Tells its own changes from those of other processes.
  private let name = Int64.random(in: .min ... .max)
  private let readsPromptly: Bool

  /// - Parameter readsPromptly: allows ``promptRows(of:later:)``.
  init(_ directory: ResponseDirectory, readsPromptly: Bool = false, logger: Logger) throws {
    self.directory = directory
    self.readsPromptly = readsPromptly
    self.logger = logger
    opened = Mutex(nil)
    // It is opened or made when it is first used: many launches use no response.
    if !directory.hasStore { try directory.create() }
    if !directory.mayBeWritten { _ = try current() }
  }

  func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
    try recovering { try $0.read(body) }
  }

  /// Reads the rows of a key without waiting for the disk or for others. A database that somebody has put in the place
  /// of this one is noticed by the next ``read(_:)``.
  ///
  /// - Parameter later: runs work that may wait.
  /// - Returns: `nil` if they cannot be read so.
  func promptRows(
    of key: CacheKey, later: (@escaping @Sendable () -> Void) -> Void
  ) -> [PromptReader.Found]? {
    opened.withLockIfAvailable { $0?.readers }??.rows(of: key, later: later)
  }

  /// - Parameters:
  ///   - isChange: others have to look again.
  ///   - durably: it has reached the disk when this returns.
  ///   - body: may be called again, where the index was found damaged meanwhile.
  func write<Value>(isChange: Bool = true, durably: Bool = false, _ body: (Database) throws -> Value) throws -> Value {
    try recovering { pool in
      try pool.writeWithoutTransaction { db in
        if durably { try db.execute(sql: "PRAGMA synchronous = FULL") }
        defer { if durably { try? db.execute(sql: "PRAGMA synchronous = NORMAL") } }
        var result: Result<Value, any Error>?
        try db.inTransaction {
          let value = try body(db)
          if isChange {
            try db.cachedStatement(
              sql: """
                UPDATE change SET before = CASE WHEN writer = ?1 THEN before ELSE number END,
                  number = number + 1, writer = ?1
                """
            ).execute(arguments: [name])
          }
          result = .success(value)
          return .commit
        }
        guard let result else { throw StoreError.database(path: directory.database.string, reason: "nothing was done") }
        return try result.get()
      }
    }
  }

  /// A number that others' changes alone change.
  func foreignChanges() -> Int64 {
    (try? read { try foreignChanges($0) }) ?? 0
  }

  func foreignChanges(_ db: Database) throws -> Int64 {
    let sql = "SELECT CASE WHEN writer = ? THEN before ELSE number END FROM change"
    return try Int64.fetchOne(db.cachedStatement(sql: sql), arguments: [name]) ?? 0
  }

  /// Gives pages that hold nothing back to the file system, at most so many: a few milliseconds, for which nobody else
  /// writes.
  ///
  /// - Returns: `true` if there are more.
  func shrink(byPages limit: Int = 1_024) throws -> Bool {
    try withPool { pool in
      try pool.writeWithoutTransaction { db in
        let before = try emptyPages(db).empty
        try db.execute(sql: "PRAGMA incremental_vacuum(\(limit))")
        let after = try emptyPages(db).empty
        return after > 0 && after < before
      }
    }
  }

  /// The pages that hold nothing, and all pages.
  func emptyPages(_ db: Database) throws -> (empty: Int, all: Int) {
    (
      try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0, try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
    )
  }

  /// Gives the pool, for work outside transactions.
  func withPool<Value>(_ body: (DatabasePool) throws -> Value) throws -> Value { try recovering(body) }

  // MARK: Recovering

  /// The database, opened again where somebody has put another one in its place, or has emptied the folder.
  private func current() throws -> DatabasePool {
    try opened.withLock { opened in
      if let opened, isInPlace(opened.file) { return opened.pool }
      // Who uses the former one goes on with it.
      opened = nil
      let pool = try ResponseIndexOpening(directory: directory, logger: logger).open()
      opened = Opened(
        readers: readsPromptly ? PromptReaders(directory.database.string) : nil, pool: pool,
        file: FileSystem.status(directory.database))
      return pool
    }
  }

  private func isInPlace(_ file: FileStatus?) -> Bool {
    guard let file, let found = FileSystem.status(directory.database) else { return false }
    return file.isSameFile(as: found)
  }

  private func recovering<Value>(_ body: (DatabasePool) throws -> Value) throws -> Value {
    for _ in 0..<2 {
      let pool = try current()
      do {
        return try body(pool)
      } catch  where error.isDatabaseDamage {
        try putAside(pool, because: error)
      } catch let error as DatabaseError {
        let isCurrent = opened.withLock { $0?.pool === pool && isInPlace($0?.file) }
        if isCurrent { throw StoreError(error, path: directory.database.string) }
      }
    }
    do {
      return try body(try current())
    } catch let error as DatabaseError {
      throw StoreError(error, path: directory.database.string)
    } catch let error as RowDecodingError {
      throw StoreError.damagedDatabase(path: directory.database.string, reason: "\(error)")
    }
  }

  /// Unless another thread or process was first.
  private func putAside(_ pool: DatabasePool, because error: any Error) throws {
    try opened.withLock { opened in
      guard let current = opened, current.pool === pool else { return }
      opened = nil
      try StoreLock(path: directory.lock).with(.exclusive) {
        guard isInPlace(current.file) else { return }
        try ResponseIndexOpening(directory: directory, logger: logger).putAside("damaged", error.databaseDamage)
      }
    }
  }
}
