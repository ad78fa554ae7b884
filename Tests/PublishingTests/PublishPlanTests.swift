import HTTPTransport
import Releases
import Testing

@testable import Publishing

struct PublishPlanTests {
  private static func entry(_ name: String, _ text: String, blob: String? = nil) throws -> Manifest.Entry {
    let digests = try ContentDigests(of: Array(text.utf8))
    var entry = Manifest.Entry(
      name: name, path: "\(name).js", size: digests.size, md5: digests.md5, sha256: digests.sha256)
    entry.blob = blob
    return entry
  }

  private static func published(_ entries: Manifest.Entry...) -> Manifest {
    var manifest = Manifest(release: "old", bundles: entries)
    manifest.blobs = "blobs/"
    return manifest
  }

  private static func digest(_ text: String) throws -> String { try SHA256Digest(of: Array(text.utf8)).hex }

  @Test("contents of published releases keep their names, and are not missing")
  func known() throws {
    let old = Self.published(try Self.entry("a", "1", blob: "x-2"), try Self.entry("b", "2"))
    let next = Manifest(
      release: "new", bundles: [try Self.entry("c", "1"), try Self.entry("b", "2"), try Self.entry("d", "3")])
    let plan = PublishPlan(next, published: [old], collections: 4)
    let number = try "\(Self.digest("3"))-4"
    #expect(plan.manifest.bundles.map(\.blob) == ["x-2", nil, number])
    #expect(plan.missing.map(\.name) == [number] && plan.missing.map(\.path) == ["d.js"])
    #expect(plan.manifest.blobs == "blobs/")
  }

  @Test("a content of several entries is uploaded once")
  func twice() throws {
    let next = Manifest(release: "new", bundles: [try Self.entry("a", "1")], files: [try Self.entry("b", "1")])
    let plan = PublishPlan(next, published: [], collections: 0)
    #expect(plan.missing.map(\.name) == [try Self.digest("1")])
    #expect(plan.manifest.files.map(\.blob) == [nil])
  }

  @Test("names of a manifest with other places do not count")
  func elsewhere() throws {
    var old = Self.published(try Self.entry("a", "1"))
    old.blobs = "https://other/"
    let next = Manifest(release: "new", bundles: [try Self.entry("a", "1")])
    #expect(PublishPlan(next, published: [old], collections: 0).missing.count == 1)
  }

  @Test("the newest of several names counts")
  func newest() throws {
    let newer = Self.published(try Self.entry("a", "1", blob: "new-2"))
    let older = Self.published(try Self.entry("a", "1"))
    let next = Manifest(release: "next", bundles: [try Self.entry("a", "1")])
    #expect(PublishPlan(next, published: [newer, older], collections: 2).manifest.bundles.map(\.blob) == ["new-2"])
  }
}
