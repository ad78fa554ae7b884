import Foundation
import PageKit

/// The manifest of a benchmark's bundles, as a server has it.
struct SiteManifest: Encodable {
  struct Entry: Encodable {
    let name: String
    let path: String
    let size: Int
    let md5: String

    init(name: String, path: String, _ bytes: [UInt8]) throws {
      (self.name, self.path, size) = (name, path, bytes.count)
      md5 = try MD5Digest(of: bytes).hex
    }
  }

  let schema = 1
  let release: String
  let sequence = 1
  let base: String
  let bundles: [Entry]

  init(release: String, base: String, bundles: [Entry]) {
    (self.release, self.base, self.bundles) = (release, base, bundles)
  }

  func write(to path: String) throws {
    try JSONEncoder().encode(self).write(to: URL(fileURLWithPath: path))
  }
}
