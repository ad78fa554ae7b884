import DiskStorage
import Foundation
import GRDB
import HTTPTransport
import Logging
import SystemPackage

/// Opens `responses.sqlite`, and makes it where there is none that can be used.
struct ResponseIndexOpening {
  let directory: ResponseDirectory
  let logger: Logger

  func open() throws -> DatabasePool {
    try directory.create()
    return try StoreLock(path: directory.lock).with(.exclusive) {
      do {
        return try openLocked()
      } catch  where error.isDatabaseDamage {
        try putAside("damaged", error.databaseDamage)
        return try inWords { try openLocked() }
      } catch let error as DatabaseError {
        throw StoreError(error, path: directory.database.string)
      }
    }
  }

  private func inWords<Value>(_ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch let error as DatabaseError {
      throw StoreError(error, path: directory.database.string)
    }
  }

  private func openLocked() throws -> DatabasePool {
    if let found = FileSystem.status(directory.database), found.kind != .file {
      try putAside("damaged", "it is not a regular file")
    }
    for suffix in ["-wal", "-shm", "-journal"] {
      let path = directory.database.extended(by: suffix)
      // SQLite would write to what a link in its place names.
      if let found = FileSystem.status(path), found.kind != .file { FileSystem.removeAll(path) }
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
      for suffix in ["", "-wal", "-shm"] { FileSystem.remove(directory.database.extended(by: suffix)) }
      pool = try openPool()
    }
    // Files that no index names.
    let files = directory.files(isKept: false)
    for folder in [files.entries, files.bodies] { FileSystem.removeAll(folder) }
    try directory.create()
    try pool.write { db in
      try ResponseSchema.create(db)
      let count = try ResponseRebuild(directory: directory).run(db)
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
    try FileSystem.rename(directory.database, to: aside)
    for suffix in ["-wal", "-shm"] { FileSystem.remove(directory.database.extended(by: suffix)) }
    for name in former { FileSystem.remove(directory.cache.appending(name)) }
  }
}
