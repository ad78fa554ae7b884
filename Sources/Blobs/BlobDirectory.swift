import HTTPTransport
import SystemPackage

/// The files of blobs: `blobs/ab/abcd…`, read-only, named by the SHA-256 of their bytes.
package struct BlobDirectory: Sendable {
  package let root: StorePath
  /// A second folder, which cannot be written, with the files that are not in `root`.
  package let base: StorePath?

  package init(root: StorePath, over base: StorePath? = nil) {
    self.root = root
    self.base = base
  }

  /// The largest file that is read to identify it, in bytes.
  private static let identifyLimit = 256 << 20

  /// The path of a blob's file, whether it exists or not.
  package func path(of digest: SHA256Digest) -> StorePath {
    let own = ownPath(of: digest)
    guard let base, FileSystem.status(own) == nil else { return own }
    let below = Self.path(of: digest, in: base)
    return FileSystem.status(below) == nil ? own : below
  }

  /// The path of a blob's file in `root`.
  package func ownPath(of digest: SHA256Digest) -> StorePath { Self.path(of: digest, in: root) }

  private static func path(of digest: SHA256Digest, in root: StorePath) -> StorePath {
    let name = digest.hex
    return root.appending(String(name.prefix(2))).appending(name)
  }

  /// Reads the status of many files; `nil` if the folder cannot be opened, or there are two.
  ///
  /// - Parameter followsLinks: `false` for a reader for which files behind links do not exist.
  package func statusReader(followsLinks: Bool = true) -> StatusReader? {
    guard base == nil, let folder = try? FileSystem.open(root, .readOnly, options: .directory) else { return nil }
    return StatusReader(folder, followsLinks: followsLinks)
  }

  /// Reads the status of blobs' files below a folder, which is opened once.
  package final class StatusReader: Sendable {
    private let folder: FileDescriptor
    /// The folders that are not looked into, by the first bytes of their files' digests.
    private let hidden: Set<UInt8>

    fileprivate init(_ folder: FileDescriptor, followsLinks: Bool) {
      self.folder = folder
      hidden =
        followsLinks
        ? [] : Set((UInt8.min...UInt8.max).filter { Self.status(ofFolder: $0, in: folder)?.isFolder == false })
    }

    deinit { try? folder.close() }

    private static func status(ofFolder byte: UInt8, in folder: FileDescriptor) -> FileStatus? {
      withUnsafeTemporaryAllocation(of: CChar.self, capacity: 3) { name in
        (name[0], name[1], name[2]) = (digit(byte >> 4), digit(byte & 15), 0)
        return FileSystem.status(name.baseAddress, in: folder)
      }
    }

    /// The status of a blob's file, also of a link itself; `nil` if there is none. Links above it are followed, so that
    /// nothing may be read because of it.
    package func status(of digest: SHA256Digest) -> FileStatus? {
      if let first = digest.bytes.first, hidden.contains(first) { return nil }
      // ab/abcd…, with the zero byte at its end.
      return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 2 + 1 + 64 + 1) { path in
        for (index, byte) in digest.bytes.enumerated() {
          path[3 + 2 * index] = Self.digit(byte >> 4)
          path[4 + 2 * index] = Self.digit(byte & 15)
        }
        (path[0], path[1], path[2], path[67]) = (path[3], path[4], CChar(UInt8(ascii: "/")), 0)
        return FileSystem.status(path.baseAddress, in: folder)
      }
    }

    /// The state of all folders, and the time of their last change in nanoseconds since 1970. A folder changes when a
    /// file in it is added, removed or replaced.
    ///
    /// - Throws: an error of libcrypto.
    package func folders() throws -> (state: SHA256Digest, modified: Int64) {
      var modified: Int64 = 0
      var values: [UInt64] = []
      values.reserveCapacity(4 * 256)
      for byte in UInt8.min...UInt8.max {
        guard let status = Self.status(ofFolder: byte, in: folder) else { continue }
        modified = max(modified, status.modified)
        values.append(UInt64(byte).littleEndian)
        values.append(status.device.littleEndian)
        values.append(status.inode.littleEndian)
        values.append(UInt64(bitPattern: status.modified).littleEndian)
      }
      var digester = try Digester.sha256()
      values.withUnsafeBytes { digester.update($0) }
      return (try digester.finish(), modified)
    }

    private static func digit(_ value: UInt8) -> CChar {
      CChar(value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10)
    }
  }

  /// Reads a blob's bytes and checks their SHA-256.
  ///
  /// - Throws: ``BlobError``.
  package func read(_ blob: ContentDigests) throws -> [UInt8] {
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
  package func identify(_ digest: SHA256Digest, at path: StorePath) -> (blob: ContentDigests, status: FileStatus)? {
    guard let bytes = FileSystem.contents(of: path, upTo: Self.identifyLimit), let status = FileSystem.status(path),
      let found = try? ContentDigests(of: bytes), found.sha256 == digest
    else { return nil }
    return (found, status)
  }

  /// All files of `root`, each with the digest that it is named by; `nil` for other names.
  package func all() -> [(digest: SHA256Digest?, path: StorePath)] {
    Self.files(in: root).map { (SHA256Digest(hex: $0.lastName), $0) }
  }

  /// The items in the folders of a folder.
  package static func files(in root: StorePath) -> [StorePath] {
    FileSystem.names(in: root).flatMap { name in
      let folder = root.appending(name)
      return FileSystem.names(in: folder).map { folder.appending($0) }
    }
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
