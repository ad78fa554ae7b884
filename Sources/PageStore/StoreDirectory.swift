import Foundation
import PageCore
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
  public var database: FilePath { root.appending("store.sqlite") }
  var blobs: FilePath { root.appending("blobs") }
  var partial: FilePath { root.appending("partial") }
  var quarantine: FilePath { root.appending("quarantine") }
  /// Files that are locked while open pages view releases.
  var views: FilePath { root.appending("views") }
  /// Held shared by writers, exclusively by the collector.
  var lock: FilePath { root.appending("lock") }

  /// Whether there is a store.
  public var hasStore: Bool { FileSystem.status(database) != nil }

  /// Whether somebody has stored something here: only then is what cannot be the store's own put aside.
  var isStore: Bool {
    [blobs, partial, views].contains { FileStatus(ofLink: $0.string)?.kind == .folder }
  }

  /// Makes the folders that are missing. What stands in the place of one is put aside, in a folder that is a store.
  ///
  /// - Throws: ``StoreError``.
  func create() throws {
    let mayPutAside = isStore
    for folder in [root, quarantine, blobs, partial, views] {
      if folder != root, let found = FileStatus(ofLink: folder.string), found.kind != .folder {
        guard mayPutAside else {
          throw StoreError.notWritable(
            path: folder.string,
            reason: "it is not a folder, and there is no store in \(path): name another folder with --store")
        }
        try putAside(folder)
      }
      do {
        try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
      } catch {
        throw StoreError.notWritable(path: folder.string, reason: (error as NSError).plainReason)
      }
    }
  }
}

// MARK: - What cannot be the store's own

extension StoreDirectory {
  /// Moves what stands at a path out of the way, whatever it is. What a link names is not touched.
  func putAside(_ path: FilePath) throws {
    let name = "\(path.lastComponent?.string ?? "").foreign-\(UUID().uuidString)"
    // The folder of such things may be one itself.
    let folder = FileStatus(ofLink: quarantine.string)?.kind == .folder && path != quarantine ? quarantine : root
    try FileSystem.rename(path, to: folder.appending(name))
  }

  /// Puts aside what stands at a path and is of another kind.
  func makeWay(for kind: FileStatus.Kind, at path: FilePath) throws {
    guard let found = FileStatus(ofLink: path.string), found.kind != kind else { return }
    try putAside(path)
  }

  /// Opens a file of the store, and makes it where there is none.
  func open(own path: FilePath) throws -> FileDescriptor {
    try makeWay(for: .file, at: path)
    return try FileSystem.open(
      path, .readWrite, options: .create, permissions: [.ownerReadWrite, .groupRead, .otherRead])
  }

  /// Makes a file of the store that is empty and has no other name.
  func make(own path: FilePath) throws -> FileDescriptor {
    try makeWay(for: .file, at: path)
    FileSystem.remove(path)
    return try FileSystem.open(
      path, .readWrite, options: [.create, .exclusiveCreate], permissions: [.ownerReadWrite, .groupRead, .otherRead])
  }
}

extension NSError {
  /// The system's words where there are some.
  var plainReason: String {
    if let underlying = userInfo[NSUnderlyingErrorKey] as? NSError, underlying.domain == NSPOSIXErrorDomain {
      return Errno(rawValue: Int32(underlying.code)).description
    }
    return localizedDescription
  }
}
