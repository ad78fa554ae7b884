import Foundation
import PageKit

/// Files that are rendered as they are.
enum LocalFile {
  /// Also what has no length of its own: a pipe, or a device.
  ///
  /// - Throws: ``CommandError``.
  static func read(_ path: String) throws -> [UInt8] {
    guard let file = fopen(path, "r") else { throw CommandError(String(cString: strerror(errno))) }
    defer { fclose(file) }
    let limit = Int(ManifestLimits.standard.fileBytes)
    var bytes: [UInt8] = []
    while bytes.count <= limit {
      let piece = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
        count = fread(buffer.baseAddress, 1, buffer.count, file)
      }
      if piece.isEmpty { break }
      bytes += piece
    }
    guard ferror(file) == 0 else { throw CommandError(String(cString: strerror(errno))) }
    guard bytes.count <= limit else { throw CommandError("it has more than the limit of \(limit) bytes") }
    return bytes
  }
}
