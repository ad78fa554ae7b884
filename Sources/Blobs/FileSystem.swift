import CLinux
import Foundation
import HTTPTransport
import SystemPackage

/// The system calls that a store uses, with errors in words. None of them follows a symbolic link below a store's
/// folder.
package enum FileSystem {
  // MARK: Folders

  /// Opens the folder of a path, and calls the body with its descriptor and the path's name in it.
  ///
  /// - Throws: `Errno` if the folder does not exist, or if it or a folder above it is a link.
  private static func inFolder<Result>(
    of path: StorePath, _ body: (_ folder: CInt, _ name: String) throws -> Result
  ) throws -> Result {
    guard let name = path.names.last else { return try body(AT_FDCWD, path.string) }
    return try inRoot(of: path) { root in
      guard path.names.count > 1 else { return try body(root, name) }
      let folder = try openBelow(root, path.names.dropLast(), folderFlags | O_NOFOLLOW)
      defer { Foundation.close(folder) }
      return try body(folder, name)
    }
  }

  /// Opens the root of a path, and calls the body with its descriptor.
  ///
  /// - Throws: `Errno`.
  private static func inRoot<Result>(of path: StorePath, _ body: (_ root: CInt) throws -> Result) throws -> Result {
    let root = try descriptor { Foundation.open(path.root.string, folderFlags) }
    defer { Foundation.close(root) }
    return try body(root)
  }

  /// Opens what lies below a folder; no link is followed if the flags have `O_NOFOLLOW`, and otherwise only one that is
  /// the last of the names.
  ///
  /// - Throws: `Errno`.
  private static func openBelow(
    _ folder: CInt, _ names: some BidirectionalCollection<String>, _ flags: CInt, permissions: mode_t = 0o600
  ) throws -> CInt {
    #if os(Linux)
      if names.count > 1, flags & O_NOFOLLOW != 0 {
        let descriptor = pk_open_without_links(folder, names.joined(separator: "/"), flags, permissions)
        if descriptor >= 0 { return descriptor }
        // An old kernel, or a container, does not have the call.
        guard errno == ENOSYS || errno == EPERM else { throw Errno(rawValue: errno) }
      }
    #endif
    guard let last = names.last else { throw Errno.noSuchFileOrDirectory }
    var above = folder
    defer { if above != folder { Foundation.close(above) } }
    for name in names.dropLast() {
      let inner = try descriptor { openat(above, name, folderFlags | O_NOFOLLOW) }
      if above != folder { Foundation.close(above) }
      above = inner
    }
    return try descriptor { openat(above, last, flags, permissions) }
  }

  #if os(Linux)
    /// Folders on the way need not be readable.
    private static let folderFlags = pk_open_path | O_DIRECTORY | O_CLOEXEC
  #else
    private static let folderFlags = O_SEARCH | O_DIRECTORY | O_CLOEXEC
  #endif

  private static func descriptor(_ open: () -> CInt) throws -> CInt {
    let descriptor = open()
    guard descriptor >= 0 else { throw Errno(rawValue: errno) }
    return descriptor
  }

  /// Makes a folder if it does not exist.
  package static func makeFolder(_ path: StorePath, permissions: mode_t = 0o755) throws {
    do {
      try inFolder(of: path) { folder, name in
        guard mkdirat(folder, name, permissions) == 0 || errno == EEXIST else { throw Errno(rawValue: errno) }
      }
    } catch let error as Errno {
      throw writeError(error, path)
    }
  }

  /// Makes a folder, and those above it.
  package static func makeFolders(_ path: StorePath) throws {
    do {
      try FileManager.default.createDirectory(atPath: path.root.string, withIntermediateDirectories: true)
    } catch {
      throw StoreError.notWritable(path: path.root.string, reason: error.plainReason)
    }
    for count in path.names.indices {
      try makeFolder(StorePath(path.root, Array(path.names[...count])))
    }
  }

  /// Returns the names in a folder, none if it cannot be read.
  package static func names(in folder: StorePath) -> [String] {
    guard let file = try? open(folder, .readOnly, options: .directory) else { return [] }
    return names(in: file)
  }

  /// - Parameter folder: the open folder, which is closed.
  private static func names(in folder: FileDescriptor) -> [String] {
    guard let stream = fdopendir(folder.rawValue) else {
      try? folder.close()
      return []
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  // MARK: Files

  /// Opens a file for the body, and closes it afterwards.
  package static func withFile<Result>(
    _ path: StorePath, _ mode: FileDescriptor.AccessMode, options: FileDescriptor.OpenOptions = [],
    permissions: FilePermissions? = nil, _ body: (FileDescriptor) throws -> Result
  ) throws -> Result {
    let file = try open(path, mode, options: options, permissions: permissions)
    return try file.closeAfter { try body(file) }
  }

  /// Opens a regular file, or with `.directory` a folder. Fails for a symbolic link, a FIFO or a device, without
  /// following or waiting.
  ///
  /// - Parameter followsLink: `true` to follow a symbolic link at the path itself.
  /// - Throws: ``StoreError``.
  package static func open(
    _ path: StorePath, _ mode: FileDescriptor.AccessMode, options: FileDescriptor.OpenOptions = [],
    permissions: FilePermissions? = nil, followsLink: Bool = false
  ) throws -> FileDescriptor {
    let file: FileDescriptor
    do {
      file = try opened(path, mode, options: options, permissions: permissions, followsLink: followsLink)
    } catch let error as Errno {
      throw mode == .readOnly
        ? StoreError.notReadable(path: path.string, reason: error.description) : writeError(error, path)
    }
    let kind = status(file)?.kind
    guard kind == (options.contains(.directory) ? .folder : .file) else {
      try? file.close()
      throw mode == .readOnly
        ? StoreError.notReadable(path: path.string, reason: "it is not a regular file")
        : StoreError.notWritable(path: path.string, reason: "it is not a regular file")
    }
    return file
  }

  /// Opens an item of any kind.
  ///
  /// - Throws: `Errno`.
  package static func opened(
    _ path: StorePath, _ mode: FileDescriptor.AccessMode, options: FileDescriptor.OpenOptions = [],
    permissions: FilePermissions? = nil, followsLink: Bool = false
  ) throws -> FileDescriptor {
    // The store's root folder may be a link.
    let options = options.union([.closeOnExec, .nonBlocking]).union(
      followsLink || path.names.isEmpty ? [] : .noFollow)
    let flags = mode.rawValue | options.rawValue
    let permissions = mode_t(permissions?.rawValue ?? 0o600)
    guard !path.names.isEmpty else {
      return FileDescriptor(rawValue: try descriptor { Foundation.open(path.string, flags, permissions) })
    }
    return try inRoot(of: path) { root in
      FileDescriptor(rawValue: try openBelow(root, path.names, flags, permissions: permissions))
    }
  }

  /// Returns the bytes of a regular file; `nil` if it is larger than `limit`, or if there is no such file.
  package static func contents(of path: StorePath, upTo limit: Int, followsLink: Bool = false) -> [UInt8]? {
    guard let file = try? open(path, .readOnly, followsLink: followsLink) else { return nil }
    defer { try? file.close() }
    guard let size = status(file)?.size, size <= limit else { return nil }
    return try? file.readChunk(at: 0, count: Int(size))
  }

  package static func writeAll(_ bytes: [UInt8], to file: FileDescriptor, path: StorePath) throws {
    do {
      try file.writeAll(bytes)
    } catch let error as Errno {
      throw writeError(error, path)
    }
  }

  /// Unlocks and closes a file. Closing alone would leave the lock to a child process that is being started.
  package static func closeLocked(_ file: FileDescriptor) {
    flock(file.rawValue, LOCK_UN)
    try? file.close()
  }

  /// Replaces a file by one with other bytes; no reader sees a part of them. The file stays as it was if this fails.
  ///
  /// - Throws: ``StoreError``.
  package static func replace(_ path: StorePath, with bytes: [UInt8], permissions: FilePermissions? = nil) throws {
    let draft = path.extended(by: ".\(UUID().uuidString).new")
    do {
      try withFile(draft, .writeOnly, options: [.create, .exclusiveCreate], permissions: permissions) {
        try writeAll(bytes, to: $0, path: path)
      }
      try rename(draft, to: path)
    } catch {
      remove(draft)
      throw error
    }
  }

  // MARK: Durability

  /// Flushes the file's bytes and metadata to the disk.
  package static func synchronise(_ file: FileDescriptor, path: StorePath) throws {
    guard fsync(file.rawValue) == 0 else { throw writeError(Errno(rawValue: errno), path) }
  }

  /// Flushes the names in the folder to the disk.
  package static func synchroniseFolder(_ folder: StorePath) throws {
    try withFile(folder, .readOnly, options: .directory) { try synchronise($0, path: folder) }
  }

  /// Flushes everything that was written to the folder's file system to the disk.
  package static func synchroniseFileSystem(of folder: StorePath) throws {
    #if os(Linux)
      try withFile(folder, .readOnly, options: .directory) { descriptor in
        guard syncfs(descriptor.rawValue) == 0 else { throw writeError(Errno(rawValue: errno), folder) }
      }
    #else
      sync()
    #endif
  }

  // MARK: Names

  package static func rename(_ source: StorePath, to target: StorePath) throws {
    do {
      try inFolder(of: source) { sourceFolder, sourceName in
        try inFolder(of: target) { folder, name in
          guard renameat(sourceFolder, sourceName, folder, name) == 0 else { throw Errno(rawValue: errno) }
        }
      }
    } catch let error as Errno {
      throw writeError(error, target)
    }
  }

  /// Makes a second name for a file.
  ///
  /// - Returns: `true` if this succeeded.
  package static func link(_ source: StorePath, to target: StorePath) -> Bool {
    let result = try? inFolder(of: source) { sourceFolder, sourceName in
      try inFolder(of: target) { linkat(sourceFolder, sourceName, $0, $1, 0) }
    }
    return result == 0
  }

  /// Makes a file with one zero byte, with the owner and permissions of another file in its folder. It has its name only
  /// once it is whole. Nothing is made if there is a file with the name, or if the file system does not allow it.
  static func makeFileOfZero(_ path: StorePath, like other: String) {
    _ = try? inFolder(of: path) { folder, name in pk_make_file_of_zero(folder, name, other) }
  }

  /// Removes a file or a link.
  ///
  /// - Returns: `true` if there was one.
  @discardableResult
  package static func remove(_ path: StorePath) -> Bool {
    (try? inFolder(of: path) { unlinkat($0, $1, 0) }) == 0
  }

  /// Removes a file, or a folder with its contents. Links are not followed.
  package static func removeAll(_ path: StorePath) {
    guard status(path)?.kind == .folder else {
      remove(path)
      return
    }
    var hasFolders = true
    while hasFolders {
      hasFolders = false
      for name in names(in: path) where !remove(path.appending(name)) {
        // The contents of a folder are moved up, so that only a few folders are open at once, however deep they lie.
        let inner = path.appending(name)
        for name in names(in: inner) where !remove(inner.appending(name)) {
          let isMoved = (try? rename(inner.appending(name), to: path.appending(UUID().uuidString))) != nil
          hasFolders = hasFolders || isMoved
        }
        removeEmptyFolder(inner)
      }
    }
    removeEmptyFolder(path)
  }

  private static func removeEmptyFolder(_ path: StorePath) {
    _ = try? inFolder(of: path) { unlinkat($0, $1, AT_REMOVEDIR) }
  }

  // MARK: Status

  /// The status of the item at a path, also of a link itself; `nil` if there is none.
  package static func status(_ path: StorePath) -> FileStatus? {
    var status = stat()
    // The store's root folder may be a link.
    let flags = path.names.isEmpty ? 0 : AT_SYMLINK_NOFOLLOW
    guard (try? inFolder(of: path) { fstatat($0, $1, &status, flags) }) == 0 else { return nil }
    return FileStatus(status)
  }

  /// The number of names of an open file; 0 if it is unknown.
  package static func nameCount(_ file: FileDescriptor) -> Int {
    var status = stat()
    return fstat(file.rawValue, &status) == 0 ? Int(status.st_nlink) : 0
  }

  package static func status(_ file: FileDescriptor) -> FileStatus? {
    var status = stat()
    guard fstat(file.rawValue, &status) == 0 else { return nil }
    return FileStatus(status)
  }

  /// The status of the item at a path below an open folder, also of a link itself; `nil` if there is none. Links above it
  /// are followed.
  static func status(_ path: UnsafePointer<CChar>?, in folder: FileDescriptor) -> FileStatus? {
    var status = stat()
    guard let path, fstatat(folder.rawValue, path, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
    return FileStatus(status)
  }

  /// The bytes that a process without privileges can still write to the path's file system.
  package static func availableBytes(at path: FilePath) throws -> Int64 {
    var status = statvfs()
    guard statvfs(path.string, &status) == 0 else {
      throw StoreError.notReadable(path: path.string, reason: Errno(rawValue: errno).description)
    }
    return Int64(
      clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
  }

  package static func writeError(_ error: Errno, _ path: StorePath) -> StoreError {
    error == .noSpace || error.rawValue == EDQUOT
      ? .diskFull(path: path.string) : .notWritable(path: path.string, reason: error.description)
  }
}

/// A regular file outside of a store, which a user, or a manifest on this machine, names. It may be a link.
///
/// A FIFO or a device is refused without waiting: it may have no end, or no writer.
package final class RegularFile {
  private let file: FileDescriptor

  /// Opens a file.
  ///
  /// - Throws: ``RegularFileError``.
  package init(_ path: String) throws {
    do {
      file = try FileSystem.opened(StorePath(FilePath(path)), .readOnly)
    } catch let error as Errno {
      throw RegularFileError(error)
    }
    // Whoever throws here has a file already: `deinit` closes it.
    guard FileSystem.status(file)?.kind == .file else { throw RegularFileError.notRegular }
  }

  deinit { try? file.close() }

  /// Reads the next bytes.
  ///
  /// - Parameter count: the largest number of bytes.
  /// - Returns: no bytes at the end of the file.
  /// - Throws: ``RegularFileError``.
  package func read(upTo count: Int) throws -> [UInt8] {
    do {
      return try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        filled = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
      }
    } catch let error as Errno {
      throw RegularFileError(error)
    }
  }

  private static let chunkSize = 256 << 10

  /// Reads a file whole, or what follows its first bytes.
  ///
  /// - Parameters:
  ///   - start: the number of bytes at the beginning that are left out.
  ///   - limit: the largest size of the file in bytes.
  /// - Throws: ``RegularFileError``.
  package static func contents(of path: String, from start: Int64 = 0, upTo limit: Int64) throws -> [UInt8] {
    let file = try RegularFile(path)
    if start > 0 { try file.skip(start) }
    var bytes: [UInt8] = []
    while true {
      let chunk = try file.read(upTo: chunkSize)
      if chunk.isEmpty { return bytes }
      bytes += chunk
      guard Int64(bytes.count) <= limit - start else { throw RegularFileError.tooLarge(limit: limit) }
    }
  }

  private func skip(_ count: Int64) throws {
    do {
      try file.seek(offset: count, from: .start)
    } catch let error as Errno {
      throw RegularFileError(error)
    }
  }
}

/// The reason why a regular file cannot be read, without its path.
package enum RegularFileError: Error, Hashable, CustomStringConvertible {
  case absent
  /// It is a folder, a FIFO, a socket or a device.
  case notRegular
  case tooLarge(limit: Int64)
  case unreadable(reason: String)

  fileprivate init(_ error: Errno) {
    self =
      switch error {
      case .noSuchFileOrDirectory, .notDirectory: .absent
      // A socket.
      case .noSuchAddressOrDevice: .notRegular
      case .permissionDenied, .notPermitted: .unreadable(reason: "it may not be read")
      default: .unreadable(reason: "it cannot be read: \(error.description)")
      }
  }

  package var description: String {
    switch self {
    case .absent: "there is no such file"
    case .notRegular: "it is not a regular file"
    case .tooLarge(let limit): "it has more than the limit of \(limit) bytes"
    case .unreadable(let reason): reason
    }
  }
}

/// The identity of a file, and the properties that change when it is written.
package struct FileStatus: Hashable, Sendable {
  package let device: UInt64
  package let inode: UInt64
  /// The size in bytes.
  package let size: Int64
  /// The modification time in nanoseconds since 1970.
  package let modified: Int64
  package let kind: Kind

  package enum Kind: Hashable, Sendable {
    case file
    case folder
    /// A symbolic link, a FIFO, a socket or a device.
    case other
  }

  package var isFolder: Bool { kind == .folder }

  /// The status of the file at a path, also of a symbolic link itself; `nil` if there is none.
  package init?(ofLink path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  package init(_ status: stat) {
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .folder
      default: .other
      }
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int64(status.st_size)
    #if os(Linux)
      let time = status.st_mtim
    #else
      let time = status.st_mtimespec
    #endif
    modified = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }

  /// Returns `true` for a file whose properties are those that were recorded when it was written.
  package func isUnchanged(size: Int64, inode: Int64, modified: Int64) -> Bool {
    kind == .file && self.size == size && Int64(bitPattern: self.inode) == inode && self.modified == modified
  }

  package func isSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }
}

extension FileDescriptor {
  /// Reads `count` bytes from a position; fewer only at the file's end.
  ///
  /// - Throws: `Errno`.
  package func readChunk(at position: Int64, count: Int) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let target = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
        let read = try self.read(fromAbsoluteOffset: position + Int64(filled), into: target)
        if read == 0 { break }
        filled += read
      }
    }
  }
}
