import Foundation
import PageKit

/// Reading of local files to render.
enum LocalFile {
  /// Reads pipes and devices too, which have no length.
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
