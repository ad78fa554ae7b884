import DiskStorage
import HTTPTransport
import Logging
import Synchronization
import SystemPackage

/// The store's open database. If it was damaged, or was removed or replaced together with the store's folder, a new one
/// is opened in its place. Its methods may block, its properties do not.
final class DatabaseKeeper: Sendable {
  private struct Opened {
    let database: StoreDatabase
    /// The file's status when it was opened.
    let file: FileStatus?
  }

  /// `nil` for a database that is never replaced.
  private let recovery: Recovery?
  private let opened: Mutex<Opened>
  /// Held while another database is opened, which may wait for other processes.
  private let opening = Mutex(())
  /// Announces each database that replaced another one.
  let renewals = Broadcast<Void>()
  private let renewalCount = Atomic<Int>(0)

  /// - Throws: ``StoreError``.
  init(_ recovery: Recovery) throws {
    self.recovery = recovery
    opened = Mutex(try Self.open(recovery))
  }

  init(_ database: StoreDatabase) {
    recovery = nil
    opened = Mutex(Opened(database: database, file: nil))
  }

  private static func open(_ recovery: Recovery) throws -> Opened {
    let database = try recovery.openDatabase()
    return Opened(database: database, file: FileSystem.status(recovery.directory.databaseFile))
  }

  /// The database that was opened last. Does not block.
  ///
  /// - Returns: `nil` if its file is no longer in place.
  var inPlace: StoreDatabase? {
    let opened = opened.withLock(\.self)
    guard let recovery, !isInPlace(opened.file, recovery) else { return opened.database }
    return nil
  }

  /// The database that was opened last, whether its file is in place or not. Does not block.
  var latest: StoreDatabase { opened.withLock(\.database) }

  private func isInPlace(_ file: FileStatus?, _ recovery: Recovery) -> Bool {
    guard let file, let found = FileSystem.status(recovery.directory.databaseFile) else { return false }
    return file.isSameFile(as: found)
  }

  /// The database in the store's folder; opens or makes it again if it is gone.
  ///
  /// - Throws: ``StoreError``.
  func current() throws -> StoreDatabase {
    try renewed { opened, recovery in
      !isInPlace(opened.file, recovery)
    } beforehand: { recovery in
      recovery.logger.error(
        "the store \(recovery.directory.path) was removed or replaced while it was in use; what is missing is fetched again"
      )
      try recovery.directory.create()
    }
  }

  /// Puts a damaged database aside and opens a new one, unless this has already happened.
  ///
  /// - Throws: ``StoreError``.
  func replace(_ damaged: StoreDatabase, because reason: String) throws {
    _ = try renewed { opened, recovery in
      opened.database.reader === damaged.reader && isInPlace(opened.file, recovery)
    } beforehand: { recovery in
      try recovery.putAside(reason)
    }
  }

  private func renewed(
    if isDue: (Opened, Recovery) -> Bool, beforehand prepare: (Recovery) throws -> Void
  ) throws -> StoreDatabase {
    try opening.withLock { _ in
      let former = opened.withLock(\.self)
      guard let recovery, isDue(former, recovery) else { return former.database }
      try prepare(recovery)
      // Operations under way continue with the former database.
      let next = try Self.open(recovery)
      opened.withLock { $0 = next }
      renewalCount.add(1, ordering: .acquiringAndReleasing)
      renewals.send(())
      return next.database
    }
  }

  var canRecover: Bool { recovery != nil }

  /// The number of databases that replaced another one.
  var generation: Int { renewalCount.load(ordering: .acquiring) }
}
