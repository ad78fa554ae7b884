import Blobs
import Bundles
import HTTPCaching
import HTTPTransport
import Releases
import Testing

struct HeldReleaseTests {
  private static func twoReleases() async throws -> (StoreFixture, StoredRelease, StoredRelease) {
    let fixture = try StoreFixture()
    let first = try await fixture.activated(["a": "1"], named: "r1")
    return (fixture, first, try await fixture.activated(["a": "2"], named: "r2"))
  }

  @Test("a held release stays current when newer ones are stored")
  func current() async throws {
    let (fixture, first, _) = try await Self.twoReleases()
    try await fixture.store.hold(first)
    let next = try await fixture.register([StoreFixture.bundle("a", "3")], named: "r3")
    try await fixture.add("3", to: next)
    #expect(try await fixture.store.activate(next) == false)
    let source = try #require(try await fixture.reopened().source(fixture.source))
    #expect((source.current?.id, source.incoming?.id) == (first.id, next.id))
    #expect(source.isHeld)
    #expect(source.openable.map(\.id) == [first.id])
  }

  @Test("a page of a held source gets the held release's bytes, although newer ones are stored")
  func bytes() async throws {
    let (fixture, first, _) = try await Self.twoReleases()
    try await fixture.store.hold(first)
    let next = try await fixture.register([StoreFixture.bundle("a", "3")], named: "r3")
    try await fixture.add("3", to: next)
    let url = try #require(PageURL("http://h/a.js"))
    let blob = try #require(try await fixture.store.bundle(at: url)?.blob)
    #expect(try await fixture.store.bytes(of: blob).bytes == Array("1".utf8))
  }

  @Test("following a source again switches to its newest complete release")
  func followingSwitchesToTheNewestCompleteRelease() async throws {
    let (fixture, first, second) = try await Self.twoReleases()
    try await fixture.store.hold(first)
    _ = try await fixture.register([StoreFixture.bundle("a", "3")], named: "r3")
    #expect(try await fixture.store.follow(fixture.source)?.id == second.id)
    let source = try #require(try await fixture.store.source(fixture.source))
    #expect(!source.isHeld)
    #expect(source.incoming?.name == "r3")
  }

  @Test("a release with missing bytes cannot be held, and the missing entries are named")
  func incompleteRelease() async throws {
    let (fixture, _, second) = try await Self.twoReleases()
    let next = try await fixture.register([StoreFixture.bundle("b", "3")], named: "r3")
    let error = await #expect(throws: StoreError.self) { try await fixture.store.hold(next) }
    #expect(error == .incompleteRelease(name: "r3", missing: ["b"]))
    #expect(error?.description.contains("release r3 is not complete, b is missing") == true)
    #expect(try await fixture.store.source(fixture.source)?.current?.id == second.id)
  }

  @Test("a held release is never collected")
  func collections() async throws {
    let (fixture, first, _) = try await Self.twoReleases()
    try await fixture.store.hold(first)
    let report = try await fixture.store.collectGarbage(
      keepingPrevious: false, dryRun: false, quotas: StoreQuotas(releases: 0))
    #expect(report.kept.map(\.reason) == ["current, and held until \"release follow\""])
    #expect(try await fixture.store.contents(of: first).allSatisfy { $0.blob != nil })
  }

  @Test("the releases of a source are listed with their roles, newest first")
  func list() async throws {
    let (fixture, _, _) = try await Self.twoReleases()
    _ = try await fixture.register([StoreFixture.bundle("a", "333"), StoreFixture.bundle("b", "4")], named: "r3")
    let listed = try await fixture.store.releases(of: fixture.source)
    #expect(listed.map(\.release.name) == ["r3", "r2", "r1"])
    #expect(listed.map(\.role) == [.incoming, .current, .previous])
    #expect(listed.map(\.missing) == [2, 0, 0])
    #expect(listed.map(\.bytes) == [0, 1, 1])
  }

  @Test("a forgotten source is removed with its releases, and its bytes by the next collection")
  func forgetting() async throws {
    let (fixture, _, _) = try await Self.twoReleases()
    let other = try #require(PageURL("http://other/manifest.json"))
    let kept = try await fixture.register([StoreFixture.bundle("a", "2")], named: "x1", for: other)
    try await fixture.add("2", to: kept)
    #expect(try await fixture.store.forget(fixture.source))
    #expect(try await fixture.store.forget(fixture.source) == false)
    #expect(try await fixture.store.sources().map(\.url) == [other])
    #expect(try await fixture.store.collectGarbage(keepingPrevious: true, dryRun: false).blobs == 1)
    #expect(try await fixture.store.contents(of: kept).allSatisfy { $0.blob != nil })
  }

  @Test("a release can become current without its optional files")
  func optionalFiles() async throws {
    let fixture = try StoreFixture()
    let digests = try ContentDigests(of: Array("wrong".utf8))
    let picture = PageBundle(
      kind: .file, name: "i.png", url: try #require(PageURL("http://h/i.png")), size: nil, md5: digests.md5,
      isOptional: true)
    let release = try await fixture.register([StoreFixture.bundle("a", "1"), picture])
    #expect(try await fixture.store.activate(release) == false)
    try await fixture.add("1", to: release)
    #expect(try await fixture.store.activate(release))
    #expect(try await fixture.store.contents(of: release).map(\.bundle.isOptional) == [false, true])
  }
}
