import CLinux
import Foundation
import PageCore
import SystemPackage

/// The few system calls that make files durable, each with its error in words.
enum FileSystem {
  /// Opens, hands over, and closes.
  static func withFile<Result>(
    _ path: FilePath, _ mode: FileDescriptor.AccessMode, options: FileDescriptor.OpenOptions = [],
    permissions: FilePermissions? = nil, _ body: (FileDescriptor) throws -> Result
  ) throws -> Result {
    let file = try open(path, mode, options: options, permissions: permissions)
    return try file.closeAfter { try body(file) }
  }

  /// Opens a regular file, or with `.directory` a folder. A symbolic link, a FIFO or a device in its place is neither
  /// followed nor waited for.
  ///
  /// - Parameter followsLink: whether a symbolic link is followed after all.
  /// - Throws: ``StoreError``.
  static func open(
    _ path: FilePath, _ mode: FileDescriptor.AccessMode, options: FileDescriptor.OpenOptions = [],
    permissions: FilePermissions? = nil, followsLink: Bool = false
  ) throws -> FileDescriptor {
    let file: FileDescriptor
    do {
      file = try FileDescriptor.open(
        path, mode, options: options.union([.closeOnExec, .nonBlocking]).union(followsLink ? [] : .noFollow),
        permissions: permissions)
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

  /// The bytes of a file that is no longer than `limit`; `nil` for every other, and for what is not a regular file.
  static func contents(of path: FilePath, upTo limit: Int, followsLink: Bool = false) -> [UInt8]? {
    guard let file = try? open(path, .readOnly, followsLink: followsLink) else { return nil }
    defer { try? file.close() }
    guard let size = status(file)?.size, size <= limit else { return nil }
    return try? file.readChunk(at: 0, count: Int(size))
  }

  static func writeAll(_ bytes: [UInt8], to file: FileDescriptor, path: FilePath) throws {
    do {
      try file.writeAll(bytes)
    } catch let error as Errno {
      throw writeError(error, path)
    }
  }

  /// Unlocks and closes. Closing alone would leave the lock to a child process that is just being started.
  static func closeLocked(_ file: FileDescriptor) {
    flock(file.rawValue, LOCK_UN)
    try? file.close()
  }

  /// The file's bytes and metadata have reached the disk when this returns.
  static func synchronise(_ file: FileDescriptor, path: FilePath) throws {
    guard fsync(file.rawValue) == 0 else { throw writeError(Errno(rawValue: errno), path) }
  }

  /// The names in the folder have reached the disk when this returns.
  static func synchroniseFolder(_ folder: FilePath) throws {
    try withFile(folder, .readOnly, options: .directory) { try synchronise($0, path: folder) }
  }

  /// Everything written to the folder's file system so far has reached the disk when this returns.
  static func synchroniseFileSystem(of folder: FilePath) throws {
    #if os(Linux)
      try withFile(folder, .readOnly, options: .directory) { descriptor in
        guard syncfs(descriptor.rawValue) == 0 else { throw writeError(Errno(rawValue: errno), folder) }
      }
    #else
      sync()
    #endif
  }

  static func rename(_ source: FilePath, to target: FilePath) throws {
    guard Foundation.rename(source.string, target.string) == 0 else {
      throw writeError(Errno(rawValue: errno), target)
    }
  }

  /// Whether there was something to remove.
  @discardableResult
  static func remove(_ path: FilePath) -> Bool {
    unlink(path.string) == 0
  }

  /// Removes a file, or a folder with all that is in it. Links are not followed.
  static func removeAll(_ path: FilePath) {
    if FileStatus(ofLink: path.string)?.kind == .folder {
      try? FileManager.default.removeItem(atPath: path.string)
    } else {
      remove(path)
    }
  }

  static func makeFolder(_ path: FilePath, permissions: mode_t = 0o755) throws {
    guard mkdir(path.string, permissions) == 0 || errno == EEXIST else {
      throw writeError(Errno(rawValue: errno), path)
    }
  }

  static func status(_ path: FilePath) -> FileStatus? {
    var status = stat()
    guard stat(path.string, &status) == 0 else { return nil }
    return FileStatus(status)
  }

  /// How many names an open file has; 0 where that cannot be known.
  static func nameCount(_ file: FileDescriptor) -> Int {
    var status = stat()
    return fstat(file.rawValue, &status) == 0 ? Int(status.st_nlink) : 0
  }

  static func status(_ file: FileDescriptor) -> FileStatus? {
    var status = stat()
    guard fstat(file.rawValue, &status) == 0 else { return nil }
    return FileStatus(status)
  }

  /// Names in a folder, none when it cannot be read.
  static func names(in folder: FilePath) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder.string)) ?? []
  }

  /// Bytes that a process without privileges can still write on the path's file system.
  static func availableBytes(at path: FilePath) throws -> Int64 {
    var status = statvfs()
    guard statvfs(path.string, &status) == 0 else {
      throw StoreError.notReadable(path: path.string, reason: Errno(rawValue: errno).description)
    }
    return Int64(
      clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
  }

  static func writeError(_ error: Errno, _ path: FilePath) -> StoreError {
    error == .noSpace || error.rawValue == EDQUOT
      ? .diskFull(path: path.string) : .notWritable(path: path.string, reason: error.description)
  }
}

/// What identifies a file and tells whether it was written to.
package struct FileStatus: Hashable, Sendable {
  package let device: UInt64
  package let inode: UInt64
  /// In bytes.
  package let size: Int64
  /// Nanoseconds since 1970.
  package let modified: Int64
  package let kind: Kind

  package enum Kind: Hashable, Sendable {
    case file
    case folder
    /// A symbolic link, a FIFO, a socket or a device.
    case other
  }

  package var isFolder: Bool { kind == .folder }

  /// Of the file itself, also where it is a symbolic link; nil where there is none.
  package init?(ofLink path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  init(_ status: stat) {
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

  func isSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }
}
