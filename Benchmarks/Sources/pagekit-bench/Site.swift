import Foundation
import PageKit

/// Bundles in a folder, served by an nginx of our own on a loopback port.
final class Site {
  let root: String
  private let nginx: LocalServer
  private var entries: [SiteManifest.Entry] = []
  private var published = 0

  var origin: String { nginx.origin }
  var port: Int { nginx.port }
  var manifest: String { origin + "/manifest.json" }

  /// - Parameter sizes: of each bundle, in bytes.
  init(root: String, sizes: [Int]) throws {
    self.root = root
    let files = FileManager.default
    try? files.removeItem(atPath: root)
    try files.createDirectory(atPath: root + "/www/b", withIntermediateDirectories: true)
    var state: UInt64 = 2026
    for (index, size) in sizes.enumerated() {
      var text = "// { \"framework\": \"Vanilla\" }\n"
      text.reserveCapacity(size + 32)
      while text.utf8.count < size {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        text += "var x" + String(state >> 20, radix: 36) + " = " + String(state >> 40) + ";\n"
      }
      let bytes = Array(text.utf8.prefix(size))
      try Data(bytes).write(to: URL(fileURLWithPath: "\(root)/www/b/p\(index).js"))
      entries.append(try .init(name: "p\(index)", path: "p\(index).js", bytes))
    }
    nginx = try .nginx(root: root, keepsFilesOpen: false)
    try publish("bench")
  }

  /// Gives a bundle other bytes of the same size, in a new release.
  func change(_ index: Int, release: String) throws {
    let name = "p\(index)"
    let bytes = Array("// \(release)\n".utf8) + [UInt8](repeating: UInt8(ascii: ";"), count: entries[index].size)
    let changed = Array(bytes.prefix(entries[index].size))
    try Data(changed).write(to: URL(fileURLWithPath: "\(root)/www/b/\(name).js"), options: .atomic)
    entries[index] = try .init(name: name, path: "\(name).js", changed)
    try publish(release)
  }

  private func publish(_ release: String) throws {
    let path = root + "/www/manifest.json"
    try SiteManifest(release: release, base: "b/", bundles: entries).write(to: path)
    // The server's ETag has the time in seconds.
    published += 1
    try FileManager.default.setAttributes([.modificationDate: Date() + Double(published)], ofItemAtPath: path)
  }

  func stop() { nginx.stop() }
}
