import Blobs
import Containers
import Dispatch
import HTTPCaching
import HTTPTransport
import SystemPackage

/// The bytes of a stored response, read from its file after they were checked against their digest.
final class StoredResponseBody: StoredBody {
  /// The file is not there, or not what was stored.
  struct Damage: Error {}

  let count: Int64
  /// Short ones are read once.
  private let memory: [UInt8]
  private let file: BodyFile?
  private let start: Int64

  /// The most bytes that are read at once.
  static let memoryLimit: Int64 = 256 << 10

  /// False if its file is not what was checked any more.
  var isUnchanged: Bool { file?.isUnchanged ?? true }

  /// - Throws: ``Damage``; ``StoreError`` where that cannot be told.
  init(_ entry: ResponseEntry, in files: ResponseFiles) throws {
    count = entry.head.extent.count
    let isSeparate = count > ResponseStore.inlineLimit
    let file = try BodyFile(isSeparate ? files.bodies.path(of: entry.digest) : files.path(ofEntry: entry.id))
    if isSeparate {
      start = 0
    } else if let end = ResponseFileHeader.bodyStart(try file.read(at: 0, count: ResponseFileHeader.sealSize)) {
      start = Int64(end)
    } else {
      throw Damage()
    }
    guard file.status.size == start + count else { throw Damage() }
    var digester = try Digester.sha256()
    if count <= Self.memoryLimit {
      memory = try file.read(at: start, count: Int(count))
      digester.update(memory)
      self.file = nil
    } else {
      memory = []
      var position: Int64 = 0
      while position < count {
        let piece = try file.read(at: start + position, count: Int(min(Self.memoryLimit, count - position)))
        guard !piece.isEmpty else { throw Damage() }
        digester.update(piece)
        position += Int64(piece.count)
      }
      self.file = file
    }
    guard try digester.finish() == entry.digest else { throw Damage() }
  }

  /// Returns the bytes of a response that the index holds.
  ///
  /// - Throws: ``Damage`` if they are not those that were stored.
  static func checked(_ bytes: [UInt8], of entry: ResponseEntry) throws -> [UInt8] {
    guard Int64(bytes.count) == entry.head.extent.count, try SHA256Digest(of: bytes) == entry.digest else {
      throw Damage()
    }
    return bytes
  }

  func read(at position: Int64, upTo limit: Int) throws -> [UInt8] {
    guard position >= 0, position < count, limit > 0 else { return [] }
    let wanted = Int(min(Int64(limit), count - position))
    if let file {
      // What was checked was that file as it stood then.
      guard let bytes = try? file.read(at: start + position, count: wanted), bytes.count == wanted, file.isUnchanged
      else {
        throw StoreError.notReadable(path: file.path.string, reason: "its bytes are not those that were stored")
      }
      return bytes
    }
    let first = Int(position)
    return first == 0 && wanted == memory.count ? memory : Array(memory[first..<(first + wanted)])
  }
}

/// An open file, closed with its last user.
private final class BodyFile: Sendable {
  let path: StorePath
  /// As it was when it was opened.
  let status: FileStatus
  private let file: FileDescriptor

  init(_ path: StorePath) throws {
    self.path = path
    do {
      file = try FileSystem.opened(path, .readOnly)
    } catch let error as Errno {
      throw Self.meaning(of: error, path)
    }
    guard let status = FileSystem.status(file), status.kind == .file else {
      try? file.close()
      throw StoredResponseBody.Damage()
    }
    self.status = status
  }

  deinit { try? file.close() }

  var isUnchanged: Bool { FileSystem.status(file) == status }

  func read(at position: Int64, count: Int) throws -> [UInt8] {
    do {
      return try file.readChunk(at: position, count: count)
    } catch let error as Errno {
      throw Self.meaning(of: error, path)
    }
  }

  private static func meaning(of error: Errno, _ path: StorePath) -> any Error {
    StoredResponseBody.tellsNothing(error)
      ? StoreError.notReadable(path: path.string, reason: error.description) : StoredResponseBody.Damage()
  }
}

extension StoredResponseBody {
  /// If the process has no descriptors left or may not read, nothing is known of the file.
  static func tellsNothing(_ error: Errno) -> Bool {
    switch error {
    case .tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory, .permissionDenied, .notPermitted, .interrupted: true
    default: false
    }
  }
}

/// Stored bytes that are too long for memory: checked once, and read by all who want them at the same time.
final class SharedBodies: Sendable {
  private struct Name: Hashable {
    let digest: SHA256Digest
    let isKept: Bool
  }

  private let open = WeakTable<Name, StoredResponseBody>()
  /// Serial, so that the next reader of the same bytes finds them checked. Reading and checking take a millisecond for
  /// each MiB, which would hold up the threads that all tasks share.
  private let queue = DispatchQueue(label: "pagekit.responses.checking")

  /// - Throws: ``StoredResponseBody/Damage``, ``StoreError``.
  func body(of entry: ResponseEntry, in files: ResponseFiles) async throws -> StoredResponseBody {
    let name = Name(digest: entry.digest, isKept: entry.isKept)
    if let body = openBody(name) { return body }
    return try await queue.result { [self] in
      if let body = openBody(name) { return body }
      let body = try StoredResponseBody(entry, in: files)
      open.insert(body, for: name)
      return body
    }
  }

  private func openBody(_ name: Name) -> StoredResponseBody? {
    guard let body = open[name], body.isUnchanged else { return nil }
    return body
  }
}
