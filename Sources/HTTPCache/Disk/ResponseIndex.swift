import Blobs
import Foundation
import GRDB
import HTTPCaching
import HTTPTransport
import Logging
import Synchronization
import SystemPackage

/// `responses.sqlite`: which responses there are. Where it is damaged, or was written by a newer PageKit, it is put
/// aside and made anew from the files.
///
/// Files get and lose their final names only while a write is under way: its lock holds for all processes.
final class ResponseIndex: Sendable {
  private final class Opened: Sendable {
    /// They are closed before the pool, which tidies up at its end.
    let readers: PromptReaders?
    let pool: DatabasePool

    init(_ pool: DatabasePool, readers: PromptReaders?) { (self.pool, self.readers) = (pool, readers) }
  }

  private let opening: ResponseIndexOpening
  private let keeper: DatabaseKeeper<Opened>
  /// Tells its own changes from those of other processes.
  private let name = Int64.random(in: .min ... .max)

  /// - Parameter readsAtOnce: allows ``promptRows(of:later:)``.
  init(_ directory: ResponseDirectory, readsAtOnce: Bool = false, logger: Logger) throws {
    let opening = ResponseIndexOpening(directory: directory, logger: logger)
    self.opening = opening
    // It is opened or made when it is first used: many launches use no response.
    keeper = DatabaseKeeper(of: directory.database) { _ in
      let pool = try opening.open()
      return Opened(pool, readers: readsAtOnce ? PromptReaders(directory.database.string) : nil)
    }
    if !directory.hasStore { try directory.create() }
    if !directory.mayBeWritten { _ = try keeper.current() }
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
  ) -> [PromptReader.Columns]? {
    keeper.present?.readers?.rows(of: key, later: later)
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
        guard let result else { throw StoreError.database(path: path, reason: "nothing was done") }
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

  private var path: String { opening.directory.database.string }

  private func recovering<Value>(_ body: (DatabasePool) throws -> Value) throws -> Value {
    for _ in 0..<2 {
      let opened = try keeper.current()
      do {
        return try body(opened.pool)
      } catch  where error.isDatabaseDamage {
        try keeper.replace(opened, holding: opening.lock) { try opening.putAside("damaged", error.databaseDamage) }
      } catch let error as DatabaseError {
        if keeper.inPlace === opened { throw error.storeError(at: path) }
      }
    }
    do {
      return try body(try keeper.current().pool)
    } catch let error as RowDecodingError {
      throw StoreError.damagedDatabase(path: path, reason: "\(error)")
    } catch {
      throw error.storeError(at: path)
    }
  }
}

/// Opens `responses.sqlite`, and makes it where there is none that can be used.
struct ResponseIndexOpening {
  let directory: ResponseDirectory
  let logger: Logger

  var lock: StoreLock { StoreLock(path: directory.lock) }

  func open() throws -> DatabasePool {
    try directory.create()
    return try lock.with(.exclusive) {
      do {
        do {
          return try openLocked()
        } catch  where error.isDatabaseDamage {
          try putAside("damaged", error.databaseDamage)
          return try openLocked()
        }
      } catch {
        throw error.storeError(at: directory.database.string)
      }
    }
  }

  private func openLocked() throws -> DatabasePool {
    if let found = FileSystem.status(directory.database), found.kind != .file {
      try putAside("damaged", "it is not a regular file")
    }
    for log in FileSystem.logs(of: directory.database) {
      // SQLite would write to what a link in its place names.
      if let found = FileSystem.status(log), found.kind != .file { FileSystem.removeAll(log) }
    }
    var pool = try openPool()
    let found = try pool.read { db in
      // The first page says nothing of the others.
      _ = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM sqlite_schema")
      return try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
    }
    if found > ResponseSchema.version {
      try pool.close()
      try putAside("newer", "format \(found), this PageKit knows \(ResponseSchema.version)")
      pool = try openPool()
    }
    if try pool.read({ try $0.tableExists("response") }) {
      if found == ResponseSchema.version {
        if try !pool.read({ try $0.tableExists(ResponseVariants.table) }) {
          try pool.write { try ResponseVariants.create($0) }
        }
        return pool
      }
      logger.notice("the stored responses are of an older PageKit: those that are not kept are removed")
      try pool.close()
      for file in [directory.database] + FileSystem.logs(of: directory.database) { FileSystem.remove(file) }
      pool = try openPool()
    }
    // Files that no index names.
    let files = directory.files(isKept: false)
    for folder in [files.entries, files.bodies.root] { FileSystem.removeAll(folder) }
    try directory.create()
    try pool.write { db in
      try ResponseSchema.create(db)
      let count = try rebuild(db)
      if count > 0 { logger.notice("the index of responses was built anew from \(count) files") }
    }
    return pool
  }

  private func openPool() throws -> DatabasePool {
    // Before SQLite makes it: its log gets the same permissions.
    try FileSystem.withFile(directory.database, .writeOnly, options: .create, permissions: [.ownerReadWrite]) { file in
      _ = fchmod(file.rawValue, 0o600)
    }
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    if FileSystem.status(directory.database)?.size == 0 {
      // Before the database gets its first page: later this would only be a write.
      configuration.prepareDatabase { db in
        if !db.configuration.readonly { try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL") }
      }
    }
    return try DatabasePool(path: directory.database.string, configuration: configuration)
  }

  /// Takes the database out of the way. Only the last such is kept.
  func putAside(_ why: String, _ reason: String) throws {
    let former = FileSystem.names(in: directory.cache).filter { name in
      ["damaged", "newer"].contains { name.hasPrefix("responses.sqlite.\($0)-") }
    }
    let aside = directory.database.extended(by: ".\(why)-\(UUID().uuidString)")
    logger.error("the index of responses is \(why) (\(reason)); it is kept as \(aside), and a new one is made")
    try FileSystem.putAside(database: directory.database, as: aside)
    for name in former { FileSystem.remove(directory.cache.appending(name)) }
  }
  // MARK: Rebuilding

  /// The largest file of an entry, in bytes.
  private static let fileLimit = 8 << 20

  /// Builds the index of kept responses anew from their files. Files that were changed since they were written are left
  /// out.
  ///
  /// - Returns: how many responses were found.
  private func rebuild(_ db: Database) throws -> Int {
    var ids: Set<Int64> = []
    var variants: [CacheKey: Set<VaryKey>] = [:]
    let files = directory.files(isKept: true)
    // What was replaced may still be there, where a process was killed.
    let found = files.allEntries().compactMap { read($0, in: files) }
      .sorted { $0.header.entry.storedAt > $1.header.entry.storedAt }
    for (header, sealed) in found {
      let entry = header.entry
      guard !ids.contains(entry.id), variants[entry.key]?.contains(entry.head.vary) != true,
        // Bytes that several share are read for each of them: what is kept is little.
        let body = try? StoredResponseBody(entry, in: files)
      else { continue }
      let bytes = header.isInline ? try body.read(at: 0, upTo: Int(body.count)) : nil
      let usedAt = Int64(exactly: (entry.storedAt * 1e6).rounded()) ?? 0
      try ResponseRow.insert(db, entry, sealed: sealed, bytes: bytes, usedAt: usedAt)
      try db.execute(sql: "INSERT OR IGNORE INTO kept (key) VALUES (?)", arguments: [entry.key.description])
      ids.insert(entry.id)
      variants[entry.key, default: []].insert(entry.head.vary)
    }
    return ids.count
  }

  /// Reads an entry's file; `nil` if its header is not whole.
  private func read(_ path: StorePath, in files: ResponseFiles) -> (header: ResponseFileHeader, sealed: [UInt8])? {
    guard let data = FileSystem.contents(of: path, upTo: Self.fileLimit), let sealed = ResponseFileHeader.open(data),
      let header = sealed.header(isKept: true), files.path(ofEntry: header.entry.id) == path
    else { return nil }
    return (header, sealed.bytes)
  }
}

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

/// Which keys may have a stored response, in memory: a request for any other key need not ask the index.
///
/// Keys are added before their responses are stored. Those of responses that were removed stay until all are read anew.
final class StoredKeys: Sendable {
  /// The keys, and the number of other processes' changes when they were read.
  private let known = Mutex<(filter: KeyFilter, foreignChanges: Int64)?>(nil)

  /// Returns `false` if nothing is stored for a key.
  func mayContain(_ key: CacheKey) -> Bool { known.withLock { $0?.filter.mayContain(key) ?? true } }

  /// Adds a key.
  ///
  /// - Returns: `true` if the keys have to be read anew.
  func add(_ key: CacheKey) -> Bool {
    known.withLock { known in
      guard known?.filter.insert(key) == true else { return false }
      return known?.filter.isFull ?? false
    }
  }

  /// Takes the keys that are stored now.
  ///
  /// - Parameter foreignChanges: the number of other processes' changes at that time.
  func replace(by filter: KeyFilter, foreignChanges: Int64) { known.withLock { $0 = (filter, foreignChanges) } }

  /// Forgets all if other processes have changed what is stored.
  ///
  /// - Parameter foreignChanges: the number of their changes now.
  /// - Returns: `true` if the keys have to be read anew.
  func forget(unlessAt foreignChanges: Int64) -> Bool {
    known.withLock { known in
      guard let former = known, former.foreignChanges != foreignChanges else { return false }
      known = nil
      return true
    }
  }
}

/// A set of keys that takes a few others for its own: a Bloom filter of 16 to 32 bits for each key that it was made for,
/// with which one of 400 other keys seems to be there. When twice as many keys are in it, that is one of 40.
struct KeyFilter: Sendable {
  private static let probes = 4
  /// 128 MiB.
  private static let wordLimit = 1 << 24

  private var words: [UInt64]
  /// The number of keys from which on it is full.
  private let limit: Int
  /// The number of keys that were inserted, about.
  private var count = 0

  /// - Parameter expected: the number of keys that are inserted now; twice as many, and a few more, may follow.
  init(expected: Int) {
    limit = 2 * max(0, min(expected, 1 << 40)) + 10_000
    var wordCount = 1
    while wordCount < Self.wordLimit, wordCount * UInt64.bitWidth < 8 * limit { wordCount *= 2 }
    words = Array(repeating: 0, count: wordCount)
  }

  var isFull: Bool { count > limit }

  /// Returns `false` if a key was not inserted.
  func mayContain(_ key: CacheKey) -> Bool {
    places(of: key).allSatisfy { words[$0.word] & $0.bit != 0 }
  }

  /// - Returns: `false` if it seemed to be there.
  @discardableResult
  mutating func insert(_ key: CacheKey) -> Bool {
    var isNew = false
    for (word, bit) in places(of: key) where words[word] & bit == 0 {
      words[word] |= bit
      isNew = true
    }
    if isNew { count += 1 }
    return isNew
  }

  private func places(of key: CacheKey) -> some Sequence<(word: Int, bit: UInt64)> {
    let hash = UInt64(bitPattern: Int64(key.hashValue))
    let (first, step) = (hash, hash >> 32 | 1)
    let mask = UInt64(words.count * UInt64.bitWidth - 1)
    return (0..<Self.probes).lazy.map { probe in
      let place = (first &+ UInt64(probe) &* step) & mask
      return (Int(place / UInt64(UInt64.bitWidth)), 1 << (place % UInt64(UInt64.bitWidth)))
    }
  }
}
