import DiskStorage
import Foundation
import GRDB
import HTTPTransport
import SystemPackage

/// The files of blobs: `blobs/ab/abcd…`, read-only, named by the SHA-256 of their bytes.
struct BlobDirectory: Sendable {
  let root: StorePath
  /// A second folder, which cannot be written, with the files that are not in `root`.
  let base: StorePath?

  init(root: StorePath, over base: StorePath? = nil) {
    self.root = root
    self.base = base
  }

  /// The largest file that is read to identify it, in bytes.
  private static let identifyLimit = 256 << 20

  /// The path of a blob's file, whether it exists or not.
  func path(of digest: SHA256Digest) -> StorePath {
    let own = ownPath(of: digest)
    guard let base, FileSystem.status(own) == nil else { return own }
    let below = Self.path(of: digest, in: base)
    return FileSystem.status(below) == nil ? own : below
  }

  /// The path of a blob's file in `root`.
  func ownPath(of digest: SHA256Digest) -> StorePath { Self.path(of: digest, in: root) }

  private static func path(of digest: SHA256Digest, in root: StorePath) -> StorePath {
    let name = digest.hex
    return root.appending(String(name.prefix(2))).appending(name)
  }

  /// Reads the status of many files; `nil` if the folder cannot be opened, or there are two.
  func statusReader() -> StatusReader? { base == nil ? FolderStatus(root).map(StatusReader.init) : nil }

  /// Reads the status of blobs' files.
  struct StatusReader: Sendable {
    private let folder: FolderStatus
    /// The folders that are not looked into, by the first bytes of their files' digests.
    private var hidden: Set<UInt8> = []

    init(_ folder: FolderStatus) { self.folder = folder }

    /// A reader for which files behind links do not exist.
    func withoutLinks() -> StatusReader {
      var reader = self
      for byte in UInt8.min...UInt8.max where status(ofFolder: byte)?.isFolder == false { reader.hidden.insert(byte) }
      return reader
    }

    private func status(ofFolder byte: UInt8) -> FileStatus? {
      withUnsafeTemporaryAllocation(of: CChar.self, capacity: 3) { name in
        (name[0], name[1], name[2]) = (Self.digit(byte >> 4), Self.digit(byte & 15), 0)
        return folder.status(name.baseAddress)
      }
    }

    func status(of digest: SHA256Digest) -> FileStatus? {
      if let first = digest.bytes.first, hidden.contains(first) { return nil }
      // ab/abcd…, with the zero byte at its end.
      return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 2 + 1 + 64 + 1) { path in
        for (index, byte) in digest.bytes.enumerated() {
          path[3 + 2 * index] = Self.digit(byte >> 4)
          path[4 + 2 * index] = Self.digit(byte & 15)
        }
        (path[0], path[1], path[2], path[67]) = (path[3], path[4], CChar(UInt8(ascii: "/")), 0)
        return folder.status(path.baseAddress)
      }
    }

    /// The state of all folders, and the time of their last change in nanoseconds since 1970. A folder changes when a
    /// file in it is added, removed or replaced.
    ///
    /// - Throws: an error of libcrypto.
    func folders() throws -> (state: SHA256Digest, modified: Int64) {
      var digester = try Digester.sha256()
      var modified: Int64 = 0
      for byte in UInt8.min...UInt8.max {
        guard let status = status(ofFolder: byte) else { continue }
        modified = max(modified, status.modified)
        let values = [UInt64(byte), status.device, status.inode, UInt64(bitPattern: status.modified)]
        digester.update(values.flatMap { value in (0..<8).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } })
      }
      return (try digester.finish(), modified)
    }

    private static func digit(_ value: UInt8) -> CChar {
      CChar(value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10)
    }
  }

  /// Reads a blob's bytes and checks their SHA-256.
  ///
  /// - Throws: ``BlobError``.
  func read(_ blob: Blob) throws -> [UInt8] {
    let path = path(of: blob.sha256)
    guard let file = try? FileSystem.open(path, .readOnly) else {
      throw BlobError.missing(blob.sha256, path: path.string)
    }
    return try file.closeAfter {
      // The limit holds for a file that grew, and for a wrong size in the database.
      let limit = Int(max(0, min(blob.size, FileSystem.status(file)?.size ?? 0))) + 1
      let bytes = try [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
        var target = UnsafeMutableRawBufferPointer(buffer)
        while !target.isEmpty {
          let read = try file.read(into: target)
          if read == 0 { break }
          target = UnsafeMutableRawBufferPointer(rebasing: target[read...])
          count += read
        }
      }
      var digester = try Digester.sha256()
      digester.update(bytes)
      let found = try digester.finish()
      guard found == blob.sha256 else {
        throw BlobError.corrupt(blob.sha256, path: path.string, found: found, size: Int64(bytes.count))
      }
      return bytes
    }
  }

  /// Reads a file that is named like a blob; `nil` if its bytes do not have the digest in its name.
  func identify(_ digest: SHA256Digest, at path: StorePath) -> (blob: Blob, status: FileStatus)? {
    guard let bytes = FileSystem.contents(of: path, upTo: Self.identifyLimit), let status = FileSystem.status(path),
      let found = try? ContentDigests(of: bytes), found.sha256 == digest
    else { return nil }
    return (Blob(found), status)
  }

  /// All files of `root` that are named like blobs.
  func all() -> [(digest: SHA256Digest, path: StorePath)] {
    FileSystem.names(in: root).flatMap { folder in
      FileSystem.names(in: root.appending(folder)).compactMap { name in
        SHA256Digest(hex: name).map { ($0, root.appending(folder).appending(name)) }
      }
    }
  }
}

/// Bytes in the store, named by their SHA-256.
package struct Blob: Hashable, Sendable {
  package let sha256: SHA256Digest
  package let md5: MD5Digest
  /// The size in bytes.
  package let size: Int64

  package init(sha256: SHA256Digest, md5: MD5Digest, size: Int64) {
    self.sha256 = sha256
    self.md5 = md5
    self.size = size
  }

  package init(_ digests: ContentDigests) {
    self.init(sha256: digests.sha256, md5: digests.md5, size: digests.size)
  }
}

/// The reason why a blob's bytes cannot be used. The caller fetches them again.
public enum BlobError: Error, Hashable, CustomStringConvertible {
  /// The blob's file is missing.
  case missing(SHA256Digest, path: String)
  /// The bytes of the blob's file were changed.
  case corrupt(SHA256Digest, path: String, found: SHA256Digest, size: Int64)

  public var description: String {
    switch self {
    case .missing(_, let path): "the stored file \(path) has gone"
    case .corrupt(let expected, let path, let found, let size):
      "the stored file \(path) was changed: its SHA-256 should be \(expected), its \(size) bytes have \(found)"
    }
  }
}

/// A row of the table `blob`: the blob, and its file's inode and modification time when it was written.
struct BlobRecord {
  let blob: Blob
  let inode: Int64
  /// The file's modification time in nanoseconds since 1970.
  let modified: Int64

  init(blob: Blob, status: FileStatus) {
    self.blob = blob
    inode = Int64(bitPattern: status.inode)
    modified = status.modified
  }

  init(blob: Blob, inode: Int64, modified: Int64) {
    (self.blob, self.inode, self.modified) = (blob, inode, modified)
  }

  init(_ row: Row) throws {
    blob = try Blob(sha256: row.value("sha256"), md5: row.value("md5"), size: row.value("size"))
    inode = try row.value("inode")
    modified = try row.value("modified")
  }

  static func fetch(_ db: Database, where condition: String, _ arguments: [SHA256Digest]) throws -> [BlobRecord] {
    try db.rows("SELECT * FROM blob WHERE \(condition)", StatementArguments(arguments)) { try BlobRecord($0) }
  }

  func save(_ db: Database) throws {
    let statement = try db.cachedStatement(
      sql: """
        INSERT INTO blob (sha256, md5, size, inode, modified, storedAt) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (sha256) DO UPDATE SET inode = excluded.inode, modified = excluded.modified
        """)
    try statement.execute(
      arguments: [blob.sha256, blob.md5, blob.size, inode, modified, Date().timeIntervalSince1970])
  }

  /// The state of the file, as far as it is known without reading it.
  enum Condition {
    case untouched
    /// The file was written, replaced or restored: its bytes must be checked.
    case touched
    case missing
  }

  func condition(in directory: BlobDirectory) -> Condition {
    condition(FileSystem.status(directory.path(of: blob.sha256)))
  }

  /// - Parameter status: the status of the file; `nil` if it does not exist.
  func condition(_ status: FileStatus?) -> Condition {
    // A link, a folder or a FIFO at the path does not count.
    guard let status, status.kind == .file else { return .missing }
    return status.isUnchanged(size: blob.size, inode: inode, modified: modified) ? .untouched : .touched
  }

  /// Returns `true` if the file exists and, if it was touched, still has the right bytes.
  func isInPlace(in directory: BlobDirectory) -> Bool {
    switch condition(in: directory) {
    case .untouched: true
    case .touched: (try? directory.read(blob)) != nil
    case .missing: false
    }
  }
}
