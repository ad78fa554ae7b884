import HTTPTransport
import Synchronization

/// A store's open database. If it was damaged, or was removed or replaced together with the store's folder, a new one is
/// opened in its place. Its methods may block, its properties do not.
package final class DatabaseKeeper<Opened: AnyObject & Sendable>: Sendable {
  /// The file of the database; `nil` for one that is never replaced.
  private let file: StorePath?
  private let open: @Sendable (_ wasRemoved: Bool) throws -> Opened
  /// The database that was opened last, and its file's status then.
  private let state: Mutex<(database: Opened?, status: FileStatus?, isReplaced: Bool)>
  /// Held while another database is opened, which may wait for other processes.
  private let opening = Mutex(())
  /// Announces each database that replaced another one.
  package let renewals = Broadcast<Void>()
  private let renewalCount = Atomic<Int>(0)

  /// Makes a keeper that opens the database when it is first asked for.
  ///
  /// - Parameter open: opens the database, and makes it if it does not exist. `wasRemoved` is `true` if the file was
  ///   removed or replaced while it was in use.
  package init(of file: StorePath, open: @escaping @Sendable (_ wasRemoved: Bool) throws -> Opened) {
    (self.file, self.open) = (file, open)
    state = Mutex((database: nil, status: nil, isReplaced: false))
  }

  /// Makes a keeper of a database that is never replaced.
  package init(_ database: Opened) {
    (file, open) = (nil, { _ in database })
    state = Mutex((database: database, status: nil, isReplaced: false))
  }

  /// The database that was opened last, whether its file is in place or not; `nil` before the first one. Does not block.
  package var latest: Opened? { state.withLock(\.database) }

  /// The same; `nil` from when it was found to be gone or damaged until another one is open. Does not block.
  package var present: Opened? { state.withLock { $0.isReplaced ? nil : $0.database } }

  /// The database that was opened last; `nil` if its file is no longer in place. Does not block.
  package var inPlace: Opened? {
    let (database, status, _) = state.withLock { $0 }
    guard let file else { return database }
    guard let status, let found = FileSystem.status(file), status.isSameFile(as: found) else { return nil }
    return database
  }

  /// The number of databases that replaced another one.
  package var generation: Int { renewalCount.load(ordering: .acquiring) }

  /// Returns the database in the store's folder; opens or makes it again if it is gone.
  ///
  /// - Throws: the errors of opening.
  package func current() throws -> Opened {
    if let database = inPlace { return database }
    return try opening.withLock { _ in try inPlace ?? renewed(wasRemoved: latest != nil) }
  }

  /// Puts a damaged database aside and opens a new one, unless another thread or process was first.
  ///
  /// - Throws: the errors of putting aside and of opening.
  package func replace(_ damaged: Opened, holding lock: StoreLock, putAside: () throws -> Void) throws {
    try opening.withLock { _ in
      guard inPlace === damaged else { return }
      state.withLock { $0.isReplaced = true }
      try lock.with(.exclusive) { if inPlace != nil { try putAside() } }
      _ = try renewed(wasRemoved: false)
    }
  }

  /// Operations under way continue with the former database.
  private func renewed(wasRemoved: Bool) throws -> Opened {
    state.withLock { $0.isReplaced = true }
    let database = try open(wasRemoved)
    let status = file.flatMap { FileSystem.status($0) }
    let isFirst = state.withLock { state in
      defer { state = (database, status, false) }
      return state.database == nil
    }
    if !isFirst {
      renewalCount.add(1, ordering: .acquiringAndReleasing)
      renewals.send(())
    }
    return database
  }
}
