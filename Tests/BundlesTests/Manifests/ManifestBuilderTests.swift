import Foundation
import PageTesting
import TestSupport
import Testing

@testable import Bundles

struct ManifestBuilderTests {
  @Test("the manifest, its signatures and the roots beside it are not part of a release")
  func filesBesideTheManifest() throws {
    let folder = try TemporaryDirectory()
    try FileManager.default.createDirectory(atPath: folder.file("below"), withIntermediateDirectories: true)
    let left = ["manifest.json", "manifest.json.sig", "2.root.json", "2.root.json.sig"]
    let listed = ["02.root.json", "below/2.root.json", "below/manifest.json.sig", "my.root.json"]
    for name in ["home.js"] + left + listed {
      try Data("var a".utf8).write(to: URL(fileURLWithPath: folder.file(name)))
    }
    var builder = ManifestBuilder(folder: folder.path)
    builder.excluded = folder.file("manifest.json")
    let manifest = try builder.manifest(following: nil, base: "")
    #expect(manifest.bundles.map(\.path) == ["home.js"])
    #expect(manifest.files.map(\.path) == listed)
  }
}
