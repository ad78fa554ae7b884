import CLinux
import Foundation
import HTTPTransport
import PageKit
import PageWorkers

/// A file that the user names.
enum InputFile {
  /// - Throws: ``DescribedError`` if it cannot be read.
  static func bytes(_ path: String) throws -> [UInt8] {
    guard let data = FileManager.default.contents(atPath: path) else { throw DescribedError("\(path) cannot be read") }
    return Array(data)
  }

  /// Reads what a file contains.
  ///
  /// - Throws: ``DescribedError``, which names the file.
  static func read<Value>(_ path: String, _ body: ([UInt8]) throws -> Value) throws -> Value {
    let bytes = try bytes(path)
    do {
      return try body(bytes)
    } catch {
      throw DescribedError("\(path): \(error.message)")
    }
  }

  /// Reads a local bundle. Pipes and devices are read too, which have no length.
  ///
  /// - Throws: ``DescribedError``.
  static func bundle(_ path: String) throws -> [UInt8] {
    try contents(of: path, limit: Int(ManifestLimits.standard.fileBytes))
  }

  /// Reads a file of a limited size.
  ///
  /// - Throws: ``DescribedError``, which names the file.
  static func bytes(_ path: String, limit: Int) throws -> [UInt8] {
    do {
      return try contents(of: path, limit: limit)
    } catch {
      throw DescribedError("\(path) cannot be read: \(error.message)")
    }
  }

  private static func contents(of path: String, limit: Int) throws -> [UInt8] {
    guard let file = fopen(path, "r") else { throw DescribedError(String(cString: strerror(errno))) }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    while bytes.count <= limit {
      let piece = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
        count = fread(buffer.baseAddress, 1, buffer.count, file)
      }
      if piece.isEmpty { break }
      bytes += piece
    }
    guard ferror(file) == 0 else { throw DescribedError(String(cString: strerror(errno))) }
    guard bytes.count <= limit else { throw DescribedError("it has more than the limit of \(limit) bytes") }
    return bytes
  }
}

/// A file that an answer is written to.
///
/// A regular file, also behind a link, appears completely or not at all: until the end the bytes are in a file beside
/// it. A pipe or a device is written to as bytes arrive.
final class OutputFile {
  private let path: String
  private let handle: FileHandle
  /// The temporary file, and the file that it replaces at the end.
  private let replacement: (temporary: String, target: String)?
  private let replaces: Bool
  private var isDone = false

  /// - Parameter replaces: `false` if a regular file that is there must stay as it is.
  /// - Throws: ``DescribedError`` if the path is not writable.
  init(_ path: String, replaces: Bool = true) throws {
    self.path = path
    self.replaces = replaces
    var status = stat()
    let exists = stat(path, &status) == 0
    if exists && status.st_mode & S_IFMT != S_IFREG {
      replacement = nil
      let descriptor = open(path, O_WRONLY | O_CLOEXEC)
      guard descriptor >= 0 else { throw Self.failure(path) }
      handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
      return
    }
    if exists && !replaces {
      errno = EEXIST
      throw Self.failure(path)
    }
    // A file without write permission is not replaced either.
    guard !exists || access(path, W_OK) == 0 else { throw Self.failure(path) }
    let target = try Self.linked(path)
    let folder = (target as NSString).deletingLastPathComponent
    let name = ".\((target as NSString).lastPathComponent).\(UUID().uuidString.prefix(8)).part"
    let temporary = folder.isEmpty ? name : "\(folder)/\(name)"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw Self.failure(path) }
    if exists { _ = fchmod(descriptor, status.st_mode & 0o7777) }
    handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    replacement = (temporary, target)
  }

  deinit {
    if !isDone, let replacement { unlink(replacement.temporary) }
  }

  /// - Throws: ``DescribedError``.
  func append(_ bytes: [UInt8]) throws {
    do {
      try handle.write(contentsOf: Data(bytes))
    } catch {
      throw Self.failure(path)
    }
  }

  /// Replaces the file by the written bytes. Without this call the file stays unchanged.
  ///
  /// - Throws: ``DescribedError``.
  func finish() throws {
    do {
      try handle.close()
    } catch {
      throw Self.failure(path)
    }
    if let replacement {
      // link() fails if another process has made the file meanwhile; the temporary one is removed at the end.
      let place = replaces ? rename : link
      guard place(replacement.temporary, replacement.target) == 0 else { throw Self.failure(path) }
    }
    isDone = replaces
  }

  /// Writes a body as it arrives; nothing changes before its first bytes.
  ///
  /// - Parameter progress: called with the number of bytes so far.
  static func write(_ body: Body, to path: String, progress: (Int64) -> Void = { _ in }) async throws {
    var chunks = body.makeAsyncIterator()
    var chunk = try await chunks.next()
    let file = try OutputFile(path)
    var count: Int64 = 0
    while let bytes = chunk {
      try file.append(bytes)
      count += Int64(bytes.count)
      progress(count)
      chunk = try await chunks.next()
    }
    try file.finish()
  }

  static func write(_ data: Data, to path: String, replaces: Bool = true) throws {
    let file = try OutputFile(path, replaces: replaces)
    try file.append(Array(data))
    try file.finish()
  }

  /// The file that a path resolves to, so that links are not replaced.
  private static func linked(_ path: String) throws -> String {
    var path = path
    // The number of links that the system follows.
    for _ in 0..<40 {
      guard let next = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { return path }
      path =
        next.hasPrefix("/")
        ? next
        : ((path as NSString).deletingLastPathComponent as NSString)
          .appendingPathComponent(next)
    }
    errno = ELOOP
    throw failure(path)
  }

  private static func failure(_ path: String) -> DescribedError {
    DescribedError("\(path) cannot be written: \(String(cString: strerror(errno)))")
  }
}

extension String {
  /// The folder of a path, empty for none, and the name in it. Foundation's functions end the process for a path of one
  /// character.
  var pathParts: (folder: String, name: String) {
    guard let slash = lastIndex(of: "/") else { return ("", self) }
    return (slash == startIndex ? "/" : String(self[..<slash]), String(self[index(after: slash)...]))
  }

  /// The path to this file or folder from the folder of another file, for files that name each other; empty if this is
  /// that folder.
  func path(fromFolderOf file: String) -> String {
    let target = URL(fileURLWithPath: self).standardizedFileURL.pathComponents
    let start = URL(fileURLWithPath: file).standardizedFileURL.deletingLastPathComponent().pathComponents
    let shared = zip(target, start).prefix { $0 == $1 }.count
    return (Array(repeating: "..", count: start.count - shared) + target.dropFirst(shared)).joined(separator: "/")
  }
}
