import Foundation

extension Manifest {
  /// The bytes of a file with the manifest, which every client can read.
  ///
  /// - Throws: ``ManifestError`` if a client could not.
  package func fileBytes() throws -> [UInt8] {
    let bytes = try Bundles.fileBytes(of: self)
    _ = try Manifest(reading: bytes)
    return bytes
  }

  /// The name of a release of a day, such as `2026.11.21`.
  package static func releaseName(of date: Date) -> String {
    date.formatted(.iso8601.year().month().day().dateSeparator(.dash)).replacing("-", with: ".")
  }
}

extension ReleasePointer {
  /// The bytes of a file with the pointer.
  package func fileBytes() throws -> [UInt8] { try Bundles.fileBytes(of: self) }
}

/// JSON as people read it, in the same order each time.
private func fileBytes(of value: some Encodable) throws -> [UInt8] {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
  return Array(try encoder.encode(value)) + [UInt8(ascii: "\n")]
}
