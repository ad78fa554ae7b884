import CLinux
import DiskStorage
import Foundation
import HTTPTransport

/// The bytes of a file of the app, read as they are wanted.
final class LocalFileBody: StoredBody {
  /// Bytes that the file had when it was opened.
  let count: Int64
  private let file: FileHandle
  private let path: String

  /// Returns `nil` if it is not a regular file.
  init?(_ file: FileHandle, path: String) {
    var status = stat()
    guard fstat(file.fileDescriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    count = Int64(status.st_size)
    (self.file, self.path) = (file, path)
  }

  /// - Throws: ``StoreError/notReadable(path:reason:)``, also where the file has become shorter.
  func read(at position: Int64, upTo limit: Int) throws -> [UInt8] {
    let wanted = Int(min(Int64(limit), count - position))
    guard wanted > 0 else { return [] }
    let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, filled in
      filled = max(0, pread(file.fileDescriptor, buffer.baseAddress, wanted, off_t(position)))
    }
    guard !bytes.isEmpty else {
      throw StoreError.notReadable(path: path, reason: "it has become shorter while it was read")
    }
    return bytes
  }
}
