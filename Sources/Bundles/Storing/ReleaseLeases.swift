import DiskStorage
import Dispatch
import Foundation
import HTTPTransport
import Synchronization
import SystemPackage

/// Keeps releases that open pages view from being collected, across processes: while a page views a release, its
/// process holds a shared lock on the file `views/ID`. The lock ends with the process, however it ends.
final class ReleaseLeases: Sendable {
  private struct WeakLease: Sendable {
    weak let lease: Lease?
  }

  private let directory: StoreDirectory
  private let held = Mutex<[Int64: WeakLease]>([:])
  /// Where the end of a collection is waited for.
  private let queue = DispatchQueue(label: "pagekit.store.leases")

  init(in directory: StoreDirectory) { self.directory = directory }

  private var folder: StorePath { directory.views }

  /// Returns this process's lease of the release, shared by all its holders.
  ///
  /// - Throws: ``StoreError``.
  func lease(_ release: Int64) async throws -> Lease {
    if let lease = known(release) { return lease }
    return try await queue.result { try self.known(release) ?? self.taken(release) }
  }

  private func known(_ release: Int64) -> Lease? { held.withLock { $0[release]?.lease } }

  private func taken(_ release: Int64) throws -> Lease {
    let path = path(of: release)
    while true {
      let file = try directory.open(own: path)
      // A collector holds the lock for one transaction only.
      while flock(file.rawValue, LOCK_SH) != 0, errno == EINTR {}
      if Self.isStill(file, at: path) {
        let lease = Lease(file)
        held.withLock { held in
          held = held.filter { $0.value.lease != nil }
          held[release] = WeakLease(lease: lease)
        }
        return lease
      }
      try? file.close()
    }
  }

  /// Takes the releases that no process leases, so that none can be leased until the result is ended.
  func reserve(_ releases: [Int64]) throws -> Reservation {
    var files: [Int64: FileDescriptor] = [:]
    do {
      for release in releases {
        let path = path(of: release)
        let file = try directory.open(own: path)
        guard flock(file.rawValue, LOCK_EX | LOCK_NB) == 0, Self.isStill(file, at: path) else {
          try? file.close()
          continue
        }
        files[release] = file
      }
    } catch {
      Reservation(files: files, folder: folder).end(removing: false)
      throw error
    }
    return Reservation(files: files, folder: folder)
  }

  /// Removes the files of releases that have gone, which a killed process has left.
  func removeFiles(exceptOf releases: Set<Int64>) throws {
    let gone = FileSystem.names(in: folder).compactMap { Int64($0) }.filter { !releases.contains($0) }
    try reserve(gone).end(removing: true)
  }

  /// Whether the file has kept its name between opening and locking.
  private static func isStill(_ file: FileDescriptor, at path: StorePath) -> Bool {
    guard let mine = FileSystem.status(file), let named = FileSystem.status(path) else { return false }
    return mine.isSameFile(as: named)
  }

  private func path(of release: Int64) -> StorePath { Self.path(of: release, in: folder) }

  fileprivate static func path(of release: Int64, in folder: StorePath) -> StorePath { folder.appending("\(release)") }

  /// A release that this process needs.
  final class Lease: ReleaseLease {
    private let file: FileDescriptor

    fileprivate init(_ file: FileDescriptor) { self.file = file }

    deinit { FileSystem.closeLocked(file) }
  }

  /// Releases that nobody leases, and nobody can lease now.
  struct Reservation {
    private let files: [Int64: FileDescriptor]
    private let folder: StorePath

    fileprivate init(files: [Int64: FileDescriptor], folder: StorePath) {
      (self.files, self.folder) = (files, folder)
    }

    var releases: Set<Int64> { Set(files.keys) }

    /// - Parameter removing: the releases have gone from the database, and their files go too.
    func end(removing: Bool) {
      for (release, file) in files {
        if removing { FileSystem.remove(ReleaseLeases.path(of: release, in: folder)) }
        FileSystem.closeLocked(file)
      }
    }
  }
}

/// A store that is only read holds nothing back: who may write there may collect.
final class UnlockedLease: ReleaseLease {}
