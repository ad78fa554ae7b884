import Bundles
import HTTPTransport
import Releases
import Testing

struct ManifestDiffTests {
  private static func bundle(_ name: String, content: UInt8, _ preload: Manifest.Preload = .launch) throws -> PageBundle
  {
    PageBundle(
      kind: .bundle, name: name, url: try #require(PageURL("http://h/\(name).js")), size: 10,
      md5: try #require(MD5Digest(bytes: Array(repeating: content, count: 16))), preload: preload)
  }

  @Test("only missing bytes are fetched")
  func missingBytes() throws {
    let (a, b) = (try Self.bundle("a", content: 1), try Self.bundle("b", content: 2))
    let diff = ManifestDiff(of: [a, b]) { $0.name == "a" }
    #expect(diff.fetch.map(\.bundles) == [[b]])
    #expect(diff.bytesToFetch == 10)
  }

  @Test("launch bundles come before idle ones, and bundles on demand are not fetched")
  func order() throws {
    let idle = try Self.bundle("idle", content: 1, .idle)
    let demand = try Self.bundle("demand", content: 2, .demand)
    let launch = try Self.bundle("launch", content: 3)
    let diff = ManifestDiff(of: [idle, demand, launch]) { _ in false }
    #expect(diff.fetch.flatMap(\.bundles) == [launch, idle])
    #expect(diff.onDemand == [demand])
  }

  @Test("equal content is fetched once, as early as any of its bundles needs it")
  func equalContent() throws {
    let idle = try Self.bundle("idle", content: 1, .idle)
    let other = try Self.bundle("other", content: 2)
    let same = try Self.bundle("same", content: 1)
    let diff = ManifestDiff(of: [idle, other, same]) { _ in false }
    #expect(diff.fetch.map { $0.bundles.map(\.name) } == [["idle", "same"], ["other"]])
  }

  @Test("names restrict the fetched bundles, also those on demand")
  func names() throws {
    let (a, b) = (try Self.bundle("a", content: 1, .demand), try Self.bundle("b", content: 2))
    #expect(ManifestDiff(of: [a, b], only: ["a"]) { _ in false }.fetch.flatMap(\.bundles) == [a])
  }
}
