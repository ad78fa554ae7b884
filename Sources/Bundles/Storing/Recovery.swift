import DiskStorage
import Foundation
import GRDB
import HTTPTransport
import Logging
import SystemPackage

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

  func openDatabase() throws -> StoreDatabase {
    let path = directory.database.string
    do {
      if let found = FileSystem.status(directory.databaseFile), found.kind != .file {
        throw StoreError.damagedDatabase(path: path, reason: "it is not a regular file")
      }
      // If the log were a link, SQLite would write to the link's target.
      for log in directory.logs { try directory.makeWay(for: .file, at: log) }
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
    try putAside(reason)
    let database = try StoreDatabase(writing: directory.database.string, lock: lock)
    try takeInBlobs(database)
    return database
  }

  func putAside(_ reason: String) throws {
    let aside = directory.databaseFile.extended(by: ".damaged-\(UUID().uuidString)")
    logger.error("the database was damaged (\(reason)); it is kept as \(aside), and a new one is made")
    try lock.with(.exclusive) {
      try FileSystem.rename(directory.databaseFile, to: aside)
      // The log belongs to the database that was put aside.
      for log in directory.logs { FileSystem.remove(log) }
    }
  }

  private func takeInBlobs(_ database: StoreDatabase) throws {
    let found = blobs.all().compactMap { blobs.identify($0.digest, at: $0.path) }
    guard !found.isEmpty else { return }
    try lock.with(.shared) {
      try database.writer?.write { db in
        for (blob, status) in found { try BlobRecord(blob: blob, status: status).save(db) }
      }
    }
    logger.notice("took in \(found.count) blobs that were there")
  }
}
