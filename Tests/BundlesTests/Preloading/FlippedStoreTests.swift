import CurlTransport
import Foundation
import PageTesting
import Testing

@testable import Blobs
@testable import Bundles
@testable import HTTPTransport

/// Single bits of a store's files are flipped.
struct FlippedStoreTests {
  @Test(
    "after any flipped bit no wrong byte is served, and a preload brings the store to good", arguments: 1...UInt64(8))
  func flippedBits(_ seed: UInt64) async throws {
    try await LoadingFixture.running { fixture in
      let texts = ["a": "var a = 1", "b": "var b = 1", "c": "var c = 1"]
      try fixture.publish(texts, release: "r0")
      _ = try await fixture.preload()
      let now = texts.merging(["b": "var b = 2"]) { $1 }
      try fixture.publish(now, files: ["data.json": "[1]"], release: "r1")
      _ = try await fixture.preload()
      let part = try await fixture.store.download(for: ExpectedContent(md5: nil), url: fixture.url("/b/half.js"))
      try part.begin(DownloadHead(url: try fixture.url("/b/half.js")))
      try part.append(wire: Array("var".utf8))
      part.close()
      let good = fixture.store.directory.path
      let files = try FileManager.default.subpathsOfDirectory(atPath: good).sorted().filter { path in
        let type = try? FileManager.default.attributesOfItem(atPath: good + "/" + path)[.type] as? FileAttributeType
        return type == .typeRegular
      }
      var random = SeededGenerator(seed: seed)
      for number in 0..<25 {
        let folder = fixture.folder.file("flipped-\(number)")
        try FileManager.default.copyItem(atPath: good, toPath: folder)
        // Most bytes are in the database.
        let isDatabase = Int.random(in: 0..<4, using: &random) > 0
        let file = files.filter { $0.hasPrefix("store.sqlite") == isDatabase }.randomElement(using: &random)
        let flip = try Self.flip(folder + "/" + (file ?? ""), &random)
        try await Self.use(folder, fixture, now.merging(["data.json": "[1]"]) { $1 }, "\(file ?? "") \(flip)")
        try FileManager.default.removeItem(atPath: folder)
      }
    }
  }

  private static func flip(_ path: String, _ random: inout SeededGenerator) throws -> String {
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    guard !bytes.isEmpty else { return "empty" }
    let (place, bit) = (Int.random(in: 0..<bytes.count, using: &random), UInt8.random(in: 0..<8, using: &random))
    bytes[place] ^= 1 << bit
    try bytes.write(to: URL(fileURLWithPath: path))
    return "byte \(place) bit \(bit)"
  }

  private static func use(
    _ folder: String, _ fixture: LoadingFixture, _ texts: [String: String], _ flip: String
  ) async throws {
    let store = try BundleStore(at: StoreDirectory(folder))
    // Offline first: all bytes that are returned are right.
    for name in ["a", "b", "c"] {
      let loader = BundleLoader(store: store, verifier: nil, downloader: try fixture.downloader())
      let page = try? await loader.load(try fixture.url("/b/\(name).js"), options: .init(policy: .cacheOnly))
      guard let page else { continue }
      let text = String(decoding: page.bytes, as: UTF8.self)
      // The previous release may count as the current one.
      #expect(text == texts[name] || page.view?.release.name == "r0" && text == "var \(name) = 1", "\(flip): \(name)")
    }
    let report = try await fixture.preload(into: store)
    #expect(report.failures.isEmpty, "\(flip): \(report.failures)")
    let release = try #require(try await store.source(fixture.source)?.current, "\(flip)")
    var found: [String: String] = [:]
    for entry in try await store.contents(of: release) {
      guard let blob = entry.blob else { continue }
      found[entry.bundle.url.text] = String(decoding: try await store.bytes(of: blob).bytes, as: UTF8.self)
    }
    var expected: [String: String] = [:]
    for (name, text) in texts {
      expected[try fixture.url("/b/\(name.contains(".") ? name : name + ".js")").text] = text
    }
    #expect(found == expected, "\(flip)")
  }
}
