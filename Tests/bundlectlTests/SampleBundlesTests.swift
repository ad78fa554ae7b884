import Foundation
import PageKit
import Testing

@testable import bundlectl

/// The sample pages of this repository.
struct SampleBundlesTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  private static func manifest() throws -> Manifest {
    try Manifest(reading: Array(try Data(contentsOf: URL(fileURLWithPath: root + "/manifest.json"))))
  }

  @Test("the manifest lists exactly the files of the folder")
  func sampleManifest() throws {
    let listed = try Self.manifest()
    let found = try ManifestBuilder(folder: Self.root + "/bundles").manifest(following: listed, base: listed.base)
    #expect(found.bundles == listed.bundles, "run: bundlectl manifest build bundles -o manifest.json")
    #expect(found.files == listed.files, "run: bundlectl manifest build bundles -o manifest.json")
    #expect(listed.base == "bundles/")
  }

  @Test("at least six pages have realistic sizes")
  func samplePages() throws {
    let bundles = try Self.manifest().bundles
    #expect(bundles.count >= 6)
    for bundle in bundles {
      #expect((5_000...200_000).contains(bundle.size ?? 0), "\(bundle.name)")
    }
  }

  @Test("every page names its framework")
  func sampleFrameworks() throws {
    for bundle in try Self.manifest().bundles {
      let text = try String(contentsOfFile: "\(Self.root)/bundles/\(bundle.path)", encoding: .utf8)
      #expect(text.hasPrefix(#"// { "framework": "Vanilla" }"#), "\(bundle.name)")
    }
  }
}
