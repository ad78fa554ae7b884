import Foundation
import HTTPTransport
import SystemPackage

/// Where the parts of a store are.
public struct StoreDirectory: Hashable, Sendable {
  public let root: FilePath

  public init(_ path: String) {
    root = FilePath(path).lexicallyNormalized()
  }

  /// `XDG_DATA_HOME/pagekit`, or `~/.local/share/pagekit`.
  public static func standard(environment: [String: String] = ProcessInfo.processInfo.environment) -> StoreDirectory {
    // The XDG specification has relative paths ignored.
    if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") {
      return StoreDirectory(data + "/pagekit")
    }
    return StoreDirectory((environment["HOME"] ?? NSHomeDirectory()) + "/.local/share/pagekit")
  }

  public var path: String { root.string }
  /// SQLite opens it by its path.
  public var database: FilePath { databaseFile.path }
  package var databaseFile: StorePath { place.appending("store.sqlite") }
  package var blobs: StorePath { place.appending("blobs") }
  package var partial: StorePath { place.appending("partial") }
  package var quarantine: StorePath { place.appending("quarantine") }
  /// Files that are locked while open pages view releases.
  package var views: StorePath { place.appending("views") }
  /// Held shared by writers, exclusively by the collector.
  package var lock: StorePath { place.appending("lock") }
  private var place: StorePath { StorePath(root) }

  /// SQLite's files beside the database.
  package var logs: [StorePath] { ["-wal", "-shm", "-journal"].map { databaseFile.extended(by: $0) } }

  /// Whether there is a store.
  public var hasStore: Bool { FileSystem.status(databaseFile) != nil }

  /// Whether somebody has stored something here: only then is what cannot be the store's own put aside.
  package var isStore: Bool {
    [blobs, partial, views].contains { FileSystem.status($0)?.kind == .folder }
  }

  /// Makes the folders that are missing. What stands in the place of one is put aside, in a folder that is a store.
  ///
  /// - Throws: ``StoreError``.
  package func create() throws {
    let mayPutAside = isStore
    try FileSystem.makeFolders(place)
    for folder in [quarantine, blobs, partial, views] {
      if let found = FileSystem.status(folder), found.kind != .folder {
        guard mayPutAside else {
          throw StoreError.notWritable(
            path: folder.string,
            reason: "it is not a folder, and there is no store in \(path): name another folder with --store")
        }
        try putAside(folder)
      }
      try FileSystem.makeFolder(folder)
    }
  }

  /// Does something, and once more where it failed and a folder of the store is no folder any more, or has gone.
  ///
  /// - Throws: what the work throws, ``StoreError``.
  package func repairing<Result>(_ work: () throws -> Result) throws -> Result {
    do {
      return try work()
    } catch {
      guard [blobs, partial, views].contains(where: { FileSystem.status($0)?.kind != .folder }) else { throw error }
      try create()
      return try work()
    }
  }
}

// MARK: - What cannot be the store's own

extension StoreDirectory {
  /// Moves what stands at a path out of the way, whatever it is. What a link names is not touched.
  package func putAside(_ path: StorePath) throws {
    let name = "\(path.lastName).foreign-\(UUID().uuidString)"
    // The folder of such things may be one itself.
    let folder = FileSystem.status(quarantine)?.kind == .folder && path != quarantine ? quarantine : place
    try FileSystem.rename(path, to: folder.appending(name))
  }

  /// Puts aside what stands at a path and is of another kind.
  package func makeWay(for kind: FileStatus.Kind, at path: StorePath) throws {
    guard let found = FileSystem.status(path), found.kind != kind else { return }
    try putAside(path)
  }

  /// Opens a file of the store, and makes it where there is none.
  package func open(own path: StorePath) throws -> FileDescriptor {
    try repairing {
      try makeWay(for: .file, at: path)
      return try FileSystem.open(
        path, .readWrite, options: .create, permissions: [.ownerReadWrite, .groupRead, .otherRead])
    }
  }

  /// Makes a file of the store that is empty and has no other name.
  package func make(own path: StorePath) throws -> FileDescriptor {
    try repairing {
      try makeWay(for: .file, at: path)
      FileSystem.remove(path)
      return try FileSystem.open(
        path, .readWrite, options: [.create, .exclusiveCreate], permissions: [.ownerReadWrite, .groupRead, .otherRead])
    }
  }
}

extension NSError {
  /// The system's words where there are some.
  package var plainReason: String {
    if let underlying = userInfo[NSUnderlyingErrorKey] as? NSError, underlying.domain == NSPOSIXErrorDomain {
      return Errno(rawValue: Int32(underlying.code)).description
    }
    return localizedDescription
  }
}
