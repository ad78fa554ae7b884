import Foundation
import HTTPTransport
import SystemPackage

/// The folder of a store.
///
///     let host = try PageHost.launch(
///       .init(manifest: "https://pages.example.com/manifest.json", store: StoreDirectory("/var/lib/shop")))
public struct StoreDirectory: Hashable, Sendable {
  package let root: FilePath
  /// The path of the folder for responses that the system may remove; `nil` for the store's own folder.
  package private(set) var cache: String?

  /// Makes a store directory of a path. The folder need not exist.
  public init(_ path: String) {
    root = FilePath(path).lexicallyNormalized()
  }

  /// The folder that `bundlectl`, `renderhost` and all programs that name it share: `XDG_DATA_HOME/pagekit`, or
  /// `~/.local/share/pagekit`. Responses that the system may remove are in `XDG_CACHE_HOME/pagekit`, or
  /// `~/.cache/pagekit`.
  ///
  /// - Parameter environment: the environment variables; the process's own by default.
  public static func standard(environment: [String: String] = ProcessInfo.processInfo.environment) -> StoreDirectory {
    StoreDirectory(named: "pagekit", environment)
  }

  /// The folder of one app's own store, which is the default of a host: `XDG_DATA_HOME/NAME/pagekit`, or
  /// `~/.local/share/NAME/pagekit`. Responses that the system may remove are in `XDG_CACHE_HOME/NAME/pagekit`, or
  /// `~/.cache/NAME/pagekit`.
  ///
  /// `bundlectl --app NAME` works with the same store.
  ///
  /// ```swift
  /// let store = StoreDirectory.app("shop")
  /// print(store.path)  // such as /home/me/.local/share/shop/pagekit
  /// ```
  ///
  /// - Parameters:
  ///   - name: the app's name, one component of a path: slashes become hyphens. By default that of the executable.
  ///   - environment: the environment variables; the process's own by default.
  public static func app(
    _ name: String = ProcessInfo.processInfo.processName,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> StoreDirectory {
    let component = String(name.map { $0 == "/" || $0 == "\0" ? "-" : $0 })
    return StoreDirectory(named: (["", ".", ".."].contains(component) ? "app" : component) + "/pagekit", environment)
  }

  private init(named name: String, _ environment: [String: String]) {
    let home = environment["HOME"] ?? NSHomeDirectory()
    func folder(_ variable: String, _ usual: String) -> String {
      // The XDG specification requires that relative paths are ignored.
      environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home + usual
    }
    self.init(folder("XDG_DATA_HOME", "/.local/share") + "/" + name)
    cache = folder("XDG_CACHE_HOME", "/.cache") + "/" + name
  }

  /// The folder's path.
  public var path: String { root.string }
  /// The path of the database, by which SQLite opens it.
  package var database: FilePath { databaseFile.path }
  package var databaseFile: StorePath { place.appending("store.sqlite") }
  package var blobs: StorePath { place.appending("blobs") }
  package var partial: StorePath { place.appending("partial") }
  package var quarantine: StorePath { place.appending("quarantine") }
  /// The folder of the files that are locked while open pages use releases.
  package var views: StorePath { place.appending("views") }
  /// The folder of the files that are locked while pages of releases on trial are being opened.
  package var openings: StorePath { place.appending("openings") }
  /// A file whose time is that of the last search for files that no entry names.
  package var searched: StorePath { place.appending("searched") }
  /// The lock file: writers lock it shared, the collector exclusively.
  package var lock: StorePath { place.appending("lock") }
  /// The file that a host locks which publishes from the store, or has a gateway's caches in it.
  package var host: StorePath { place.appending("host") }
  private var place: StorePath { StorePath(root) }

  /// `true` if the folder contains a store.
  package var hasStore: Bool { FileSystem.status(databaseFile) != nil }

  /// `true` if the folder has folders of a store: only then are foreign files in it put aside.
  package var isStore: Bool {
    [blobs, partial, views].contains { FileSystem.status($0)?.kind == .folder }
  }

  /// Makes the missing folders. In a folder that is a store, other files in their places are put aside.
  ///
  /// - Throws: ``StoreError``.
  package func create() throws {
    let mayPutAside = isStore
    try FileSystem.makeFolders(place)
    for folder in [quarantine, blobs, partial, views] {
      if let found = FileSystem.status(folder), found.kind != .folder {
        guard mayPutAside else { throw StoreError.foreignFile(path: folder.string) }
        try putAside(folder)
      }
      try FileSystem.makeFolder(folder)
    }
  }

  /// The reason why the folder cannot be written; `nil` if it can. Writes a file, and removes it.
  package func writeProblem() -> StoreError? {
    let path = place.appending("probe")
    defer { FileSystem.remove(path) }
    do {
      try FileSystem.withFile(path, .writeOnly, options: [.create, .truncate]) { file in
        try FileSystem.writeAll([UInt8](repeating: 1, count: Self.probeSize), to: file, path: place)
      }
      return nil
    } catch {
      return error as? StoreError ?? .notWritable(path: path.string, reason: error.plainReason)
    }
  }

  /// The bytes that have to fit: more than those that a nearly full disk has left in its last block.
  private static let probeSize = 64 << 10

  /// The bytes that can still be written to the folder's file system.
  ///
  /// - Throws: ``StoreError``.
  package func availableBytes() throws -> Int64 { try FileSystem.availableBytes(at: root) }

  /// Replaces a file below the folder, and makes the missing folders. The file stays as it was if this fails.
  ///
  /// - Throws: ``StoreError``.
  package func write(_ bytes: [UInt8], to names: [String]) throws {
    let path = StorePath(root, names)
    try FileSystem.makeFolders(path.folder)
    try FileSystem.replace(path, with: bytes, permissions: Self.permissions)
  }

  /// Runs work on the store; if it fails because a folder of the store is missing, makes the folder and repeats the
  /// work.
  ///
  /// - Throws: the error that the work throws, ``StoreError``.
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

// MARK: - Foreign files

extension StoreDirectory {
  /// Moves a file, folder or link away. The target of a link is not touched.
  package func putAside(_ path: StorePath) throws {
    let name = "\(path.lastName).foreign-\(UUID().uuidString)"
    // The quarantine folder itself may be the one to move.
    let folder = FileSystem.status(quarantine)?.kind == .folder && path != quarantine ? quarantine : place
    try FileSystem.rename(path, to: folder.appending(name))
  }

  /// Puts the item at a path aside if it is of another kind.
  package func makeWay(for kind: FileStatus.Kind, at path: StorePath) throws {
    guard let found = FileSystem.status(path), found.kind != kind else { return }
    try putAside(path)
  }

  private static let permissions: FilePermissions = [.ownerReadWrite, .groupRead, .otherRead]

  /// Opens a file of the store, and makes it if it does not exist.
  package func open(own path: StorePath) throws -> FileDescriptor {
    func open() throws -> FileDescriptor {
      try FileSystem.open(path, .readWrite, options: .create, permissions: Self.permissions)
    }
    // Mostly nothing else is in its place; anything else makes this fail.
    if let file = try? open() { return file }
    return try repairing {
      try makeWay(for: .file, at: path)
      return try open()
    }
  }

  /// Makes an empty file of the store that has no other name.
  package func make(own path: StorePath) throws -> FileDescriptor {
    try repairing {
      try makeWay(for: .file, at: path)
      FileSystem.remove(path)
      return try FileSystem.open(
        path, .readWrite, options: [.create, .exclusiveCreate], permissions: Self.permissions)
    }
  }
}

/// A path in a store: a root folder, which the caller named, and names below it.
///
/// The root's path may lead through symbolic links. No link below it is followed: ``FileSystem`` opens one folder after
/// the other, each relative to the one before, so that a link that replaces a folder at any moment has no effect.
package struct StorePath: Hashable, Sendable, CustomStringConvertible {
  package let root: FilePath
  /// The names below the root, the outermost first.
  package let names: [String]

  package init(_ root: FilePath, _ names: [String] = []) { (self.root, self.names) = (root, names) }

  package func appending(_ name: String) -> StorePath { StorePath(root, names + [name]) }

  /// The path with a text appended to its last name.
  package func extended(by text: String) -> StorePath {
    guard let last = names.last else { return StorePath(FilePath(string + text)) }
    return StorePath(root, names.dropLast() + [last + text])
  }

  /// The folder of this path; the root for the root itself.
  package var folder: StorePath { StorePath(root, Array(names.dropLast())) }

  package var lastName: String { names.last ?? root.lastComponent?.string ?? "" }

  package var path: FilePath { names.reduce(root) { $0.appending($1) } }
  package var string: String { path.string }
  package var description: String { string }
}

/// An open file that is locked until its last owner releases it.
package final class LockedFile: Sendable {
  package let descriptor: FileDescriptor
  package let path: StorePath

  /// Waits until no other process has locked an open file exclusively, and shares its lock.
  package init(sharing descriptor: FileDescriptor, at path: StorePath) {
    (self.descriptor, self.path) = (descriptor, path)
    while flock(descriptor.rawValue, LOCK_SH) != 0, errno == EINTR {}
  }

  /// Locks an open file exclusively, without waiting; `nil` if another process has locked it. The file is closed then.
  package init?(_ descriptor: FileDescriptor, at path: StorePath) {
    (self.descriptor, self.path) = (descriptor, path)
    if flock(descriptor.rawValue, LOCK_EX | LOCK_NB) != 0 { return nil }
  }

  deinit { FileSystem.closeLocked(descriptor) }

  /// The file's status; `nil` if its path names another file or none, as after it was removed or renamed.
  package var statusInPlace: FileStatus? {
    guard let mine = FileSystem.status(descriptor), let named = FileSystem.status(path), mine.isSameFile(as: named)
    else { return nil }
    return mine
  }
}

/// A temporary folder of this process, which is removed when its last owner releases it.
package final class SessionFolder: Sendable {
  package let folder: StorePath
  package var path: String { folder.string }
  /// Locked while the folder is in use, so that other processes recognise folders of killed ones.
  private let lock: LockedFile?

  private static let prefix = "pagekit-session-"

  /// - Throws: ``StoreError/notWritable(path:reason:)`` if the system's temporary folder cannot be written.
  package init() throws {
    let parent = StorePath(FilePath(FileManager.default.temporaryDirectory.path))
    Self.removeAbandoned(in: parent)
    folder = parent.appending(Self.prefix + UUID().uuidString)
    try FileSystem.makeFolder(folder, permissions: 0o700)
    // Locked under another name first, so that no other process finds it unlocked and removes the folder.
    let (made, named) = (folder.appending("session.new"), folder.appending("session"))
    lock = LockedFile(
      try FileSystem.open(made, .readWrite, options: .create, permissions: [.ownerReadWrite]), at: named)
    try FileSystem.rename(made, to: named)
  }

  deinit { FileSystem.removeAll(folder) }

  /// Removes the folders of processes that were killed.
  private static func removeAbandoned(in parent: StorePath) {
    for name in FileSystem.names(in: parent) where name.hasPrefix(prefix) {
      let folder = parent.appending(name)
      let path = folder.appending("session")
      guard let file = try? FileSystem.open(path, .readWrite), let lock = LockedFile(file, at: path) else { continue }
      withExtendedLifetime(lock) { FileSystem.removeAll(folder) }
    }
  }
}

/// The advisory lock between the processes that use a store.
///
/// A writer holds it shared from the check that a blob exists to the commit that names it; the collector holds it
/// exclusively while it removes files.
package struct StoreLock: Sendable {
  package let path: StorePath

  package init(path: StorePath) { self.path = path }

  package enum Mode {
    case shared
    case exclusive
  }

  /// Waits for the lock, blocking the thread, and runs the body while holding it.
  package func with<Result>(_ mode: Mode, _ body: () throws -> Result) throws -> Result {
    // An flock belongs to the open file, so each holder opens its own.
    let file = try opened()
    defer { FileSystem.closeLocked(file) }
    let operation = mode == .shared ? LOCK_SH : LOCK_EX
    while flock(file.rawValue, operation) != 0 {
      guard errno == EINTR else {
        throw StoreError.notWritable(path: path.string, reason: Errno(rawValue: errno).description)
      }
    }
    return try body()
  }

  private func opened() throws -> FileDescriptor {
    // A folder stays in place: a person may have made it to prevent storing.
    if FileSystem.status(path)?.kind == .other {
      try FileSystem.rename(path, to: path.extended(by: ".foreign-\(UUID().uuidString)"))
    }
    return try FileSystem.open(
      path, .readWrite, options: .create, permissions: [.ownerReadWrite, .groupRead, .otherRead])
  }
}

/// The lock of a store that a host uses alone. Two hosts with one store publish in turn, and evict each other's responses.
package final class StoreOwnership: Sendable {
  /// The lock file, for as long as the process runs; `nil` if it could not be opened.
  private let file: FileDescriptor?
  /// Says that another host uses the store; `nil` if none does.
  package let problem: String?

  package init(_ directory: StoreDirectory) {
    file = try? FileSystem.open(
      directory.host, .readWrite, options: .create, permissions: [.ownerReadWrite, .groupRead, .otherRead])
    guard let file, flock(file.rawValue, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK else {
      problem = nil
      return
    }
    problem =
      "another renderhost uses the store \(directory.path): both publish and evict in it; give each a store of its own"
  }

  deinit {
    if let file { FileSystem.closeLocked(file) }
  }
}
