import Foundation
import GRDB
import Logging
import PageCore
import SystemPackage

/// Opens the database; where it is damaged or has gone, makes a new one that knows the blobs that are there.
///
/// Releases come back with the next manifest; what it names by SHA-256 need not be fetched again.
struct Recovery {
  let directory: StoreDirectory
  let blobs: BlobDirectory
  let lock: StoreLock
  let logger: Logger

  func openDatabase() throws -> StoreDatabase {
    let path = directory.database.string
    do {
      let database = try StoreDatabase(writing: path, lock: lock)
      if database.wasMade { try takeInBlobs(database) }
      return database
    } catch StoreError.damagedDatabase(_, let reason) {
      try putAside(reason)
      let database = try StoreDatabase(writing: path, lock: lock)
      try takeInBlobs(database)
      return database
    }
  }

  private func putAside(_ reason: String) throws {
    let aside = "\(directory.database.string).damaged-\(UUID().uuidString)"
    logger.error("the database was damaged (\(reason)); it is kept as \(aside), and a new one is made")
    try lock.with(.exclusive) {
      try FileSystem.rename(directory.database, to: FilePath(aside))
      // The log belongs to what was put aside.
      for suffix in ["-wal", "-shm"] { FileSystem.remove(FilePath(directory.database.string + suffix)) }
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
