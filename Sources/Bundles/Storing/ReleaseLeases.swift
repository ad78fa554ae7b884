import Blobs
import Containers
import Dispatch
import HTTPTransport
import Synchronization

/// Protects releases that open pages use from garbage collection, across processes: while a page uses a release, its
/// process holds a shared lock on the file `views/ID`. The lock ends with the process, however it ends.
final class ReleaseLeases: Sendable {
  private let directory: StoreDirectory
  private let leases = WeakTable<Int64, ReleaseLease>()
  /// The queue that waits for the end of a collection.
  private let queue = DispatchQueue(label: "pagekit.store.leases")

  init(in directory: StoreDirectory) { self.directory = directory }

  private var folder: StorePath { directory.views }

  /// Returns this process's lease of the release, shared by all its holders.
  ///
  /// - Throws: ``StoreError``.
  func lease(_ release: Int64) async throws -> ReleaseLease {
    if let lease = leases[release] { return lease }
    return try await queue.result { try self.leases[release] ?? self.taken(release) }
  }

  private func taken(_ release: Int64) throws -> ReleaseLease {
    let path = path(of: release)
    while true {
      // A collector holds the lock only during one transaction.
      let file = LockedFile(sharing: try directory.open(own: path), at: path)
      guard file.statusInPlace != nil else { continue }
      let lease = ReleaseLease(file)
      leases.insert(lease, for: release)
      return lease
    }
  }

  /// Reserves the releases that no process leases; they cannot be leased until the reservation ends.
  func reserve(_ releases: [Int64]) throws -> Reservation {
    var files: [Int64: LockedFile] = [:]
    for release in releases {
      let path = path(of: release)
      guard let file = LockedFile(try directory.open(own: path), at: path), file.statusInPlace != nil else { continue }
      files[release] = file
    }
    return Reservation(files: files)
  }

  /// Removes the lock files that killed processes left for releases that no longer exist.
  func removeFiles(exceptOf releases: Set<Int64>) throws {
    let gone = FileSystem.names(in: folder).compactMap { Int64($0) }.filter { !releases.contains($0) }
    try reserve(gone).end(removing: true)
  }

  private func path(of release: Int64) -> StorePath { folder.appending("\(release)") }

  /// Releases that no process leases and none can lease before the reservation ends.
  struct Reservation {
    fileprivate let files: [Int64: LockedFile]

    var releases: Set<Int64> { Set(files.keys) }

    /// Ends the reservation, or does so when this value ends.
    ///
    /// - Parameter removing: `true` if the releases were removed from the database, so that their files are removed
    ///   too.
    func end(removing: Bool) {
      withExtendedLifetime(files) { if removing { for file in $0.values { FileSystem.remove(file.path) } } }
    }
  }
}

/// Protects a release from garbage collection while it lives: a lease of this process, which holds the shared lock. That
/// of a store that is only read has none, and protects nothing: another process that can write may collect the release.
package final class ReleaseLease: Sendable {
  private let file: LockedFile?
  /// The generation of the database that the release was found in; -1 before.
  private let foundIn = Atomic(-1)

  init(_ file: LockedFile? = nil) { self.file = file }

  /// Returns `true` if the release was found in this database after the lock was taken, so that it stays there.
  func protectsRelease(in generation: Int) -> Bool { foundIn.load(ordering: .acquiring) == generation }

  func recordRelease(in generation: Int) { foundIn.store(generation, ordering: .releasing) }
}

/// The release that a page sees from its opening to its end: its bundle, and all files of the release that it asks for,
/// come from this release. No process removes the release from the store while the view lives.
package struct ReleaseView: FileSnapshot, Hashable {
  package let release: StoredRelease
  private let lease: ReleaseLease

  package init(_ release: StoredRelease, lease: ReleaseLease) {
    self.release = release
    self.lease = lease
  }

  package static func == (left: ReleaseView, right: ReleaseView) -> Bool { left.release.id == right.release.id }

  package func hash(into hasher: inout Hasher) { hasher.combine(release.id) }
}

extension BundleStore {
  /// Returns a view of the release, which protects it from garbage collection.
  ///
  /// - Throws: ``StoreError/releaseGone(name:)`` if the release was collected already.
  package func view(of release: StoredRelease) async throws -> ReleaseView {
    ReleaseView(release, lease: try await lease(release))
  }
}
