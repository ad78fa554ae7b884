import Foundation

extension Manifest {
  /// The bytes of a file with the manifest, which every client can read.
  ///
  /// - Throws: ``ManifestError`` if a client could not.
  package func fileBytes() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let bytes = Array(try encoder.encode(self)) + [UInt8(ascii: "\n")]
    _ = try Manifest(reading: bytes)
    return bytes
  }
}
