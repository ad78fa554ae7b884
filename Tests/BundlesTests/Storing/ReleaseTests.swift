import Blobs
import Bundles
import HTTPCaching
import HTTPTransport
import Releases
import Testing

struct ReleaseTests {
  @Test("a release becomes current only when it is complete")
  func completeness() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.register([
      StoreFixture.bundle("a", "A"), StoreFixture.bundle("b", "B"), StoreFixture.bundle("c", "C", preload: .demand),
    ])
    try await fixture.add("A", to: release)
    #expect(try await fixture.store.activate(release) == false)
    #expect(try await fixture.store.source(fixture.source)?.current == nil)
    try await fixture.add("B", to: release)
    #expect(try await fixture.store.activate(release))
    #expect(try await fixture.store.source(fixture.source)?.current?.id == release.id)
  }

  @Test("activating the current release changes nothing")
  func repeatedActivation() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.activated(["a": "A"])
    #expect(try await fixture.store.activate(release) == false)
  }

  @Test("the release before the current one is kept as the previous one")
  func previousRelease() async throws {
    let fixture = try StoreFixture()
    let first = try await fixture.activated(["a": "A"], named: "r1")
    let second = try await fixture.activated(["a": "B"], named: "r2")
    let source = try #require(try await fixture.store.source(fixture.source))
    #expect(source.current?.id == second.id)
    #expect(source.previous?.id == first.id)
    #expect(source.incoming == nil)
  }

  @Test func theSameManifestIsTheSameRelease() async throws {
    let fixture = try StoreFixture()
    let bundles = [try StoreFixture.bundle("a", "A")]
    let first = try await fixture.register(bundles)
    let again = try await fixture.register(bundles)
    #expect(first.id == again.id)
  }

  @Test func twoProcessesThatRegisterTheSameManifestAtOnceGetTheSameRelease() async throws {
    let fixture = try StoreFixture()
    let bundles = [try StoreFixture.bundle("a", "A")]
    let ids = try await withThrowingTaskGroup(of: Int64.self) { group in
      for _ in 0..<10 {
        let other = try fixture.reopened()
        group.addTask {
          try await other.register(
            Manifest(release: "r", bundles: []), bytes: [1], bundles: bundles, for: fixture.source,
            validators: Validators()
          ).id
        }
      }
      return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
    }
    #expect(ids.count == 1)
  }

  @Test("a release is counted if nothing of it is to be downloaded")
  func counts() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.register([
      StoreFixture.bundle("a", "A"), StoreFixture.bundle("b", "B"), StoreFixture.bundle("c", "C", preload: .demand),
    ])
    #expect(try await fixture.store.countsIfStored(of: release) == nil)
    try await fixture.add("A", to: release)
    #expect(try await fixture.store.countsIfStored(of: release) == nil)
    try await fixture.add("B", to: release)
    let counts = try #require(try await fixture.store.countsIfStored(of: release))
    #expect((counts.bundles, counts.storedBundles, counts.files, counts.onDemand) == (3, 2, 0, 1))
  }

  @Test(
    "a manifest whose texts have no \"rollout\", also with escapes, has none",
    arguments: [
      (#"{"release": "r", "bundles": []}"#, false), (#"{"rollout": {"percent": 1}}"#, true),
      (#"{"rollo\u0075t": {"percent": 1}}"#, true), (#"{"name": "a rollout"}"#, true), (#"{"name": "a\nb"}"#, false),
    ])
  func rollouts(_ text: String, _ mayHaveOne: Bool) async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.store.register(
      Manifest(release: "r", bundles: []), bytes: Array(text.utf8), bundles: [], for: fixture.source,
      validators: Validators())
    #expect(try await fixture.store.mayHaveRollout(release) == mayHaveOne)
  }

  @Test("the bytes of a former release are taken over")
  func takenOverBytes() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.activated(["a": "A", "b": "B"], named: "r1")
    let next = try await fixture.register(
      [StoreFixture.bundle("a", "A"), StoreFixture.bundle("b", "B2")], named: "r2")
    let contents = try await fixture.store.contents(of: next)
    #expect(contents.map { $0.blob != nil } == [true, false])
  }

  @Test func aServerMayGoBackToAFormerRelease() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.activated(["a": "A"], named: "r1")
    _ = try await fixture.activated(["a": "B"], named: "r2")
    let back = try await fixture.register([StoreFixture.bundle("a", "A")], named: "r1")
    #expect(try await fixture.store.contents(of: back).allSatisfy { $0.blob != nil })
    #expect(try await fixture.store.activate(back))
    let source = try #require(try await fixture.store.source(fixture.source))
    #expect(source.current?.name == "r1")
    #expect(source.previous?.name == "r2")
  }

  @Test func aNewerIncomingReleaseReplacesAnUnfinishedOne() async throws {
    let fixture = try StoreFixture()
    let current = try await fixture.activated(["a": "A"], named: "r1")
    let unfinished = try await fixture.register([StoreFixture.bundle("a", "B")], named: "r2")
    let newer = try await fixture.register([StoreFixture.bundle("a", "C")], named: "r3")
    let source = try #require(try await fixture.store.source(fixture.source))
    #expect(source.current?.id == current.id)
    #expect(source.incoming?.id == newer.id)
    await #expect(throws: StoreError.self) { try await fixture.store.activate(unfinished) }
  }

  @Test("the current manifest drops the incoming release when the server sends it again")
  func withdrawnRelease() async throws {
    let fixture = try StoreFixture()
    let current = try await fixture.activated(["a": "A"], named: "r1")
    _ = try await fixture.register([StoreFixture.bundle("a", "B")], named: "r2")
    let again = try await fixture.register([StoreFixture.bundle("a", "A")], named: "r1")
    #expect(again.id == current.id)
    #expect(try await fixture.store.source(fixture.source)?.incoming == nil)
  }

  @Test func eachSourceHasACurrentReleaseOfItsOwn() async throws {
    let fixture = try StoreFixture()
    let other = try #require(PageURL("http://other/manifest.json"))
    let first = try await fixture.activated(["a": "A"], named: "r1")
    let second = try await fixture.register([StoreFixture.bundle("a", "A2")], named: "x1", for: other)
    try await fixture.add("A2", to: second)
    #expect(try await fixture.store.activate(second))
    #expect(try await fixture.store.source(fixture.source)?.current?.id == first.id)
    #expect(try await fixture.store.source(other)?.current?.id == second.id)
  }

  @Test func anMD5AloneIsNotTrustedAcrossSources() async throws {
    let fixture = try StoreFixture()
    let other = try #require(PageURL("http://other/manifest.json"))
    _ = try await fixture.activated(["a": "A"])
    let byMD5 = try await fixture.register([StoreFixture.bundle("a", "A", host: "other")], named: "x1", for: other)
    #expect(try await fixture.store.contents(of: byMD5).first?.blob == nil)
    let bySHA = try await fixture.register(
      [StoreFixture.bundle("a", "A", withSHA256: true, host: "other")], named: "x2", for: other)
    #expect(try await fixture.store.contents(of: bySHA).first?.blob != nil)
  }

  @Test("a bundle is found by its URL with the newest stored bytes")
  func newestBytes() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.activated(["a": "A", "b": "B"], named: "r1")
    let next = try await fixture.register(
      [StoreFixture.bundle("a", "A2"), StoreFixture.bundle("b", "B2")], named: "r2")
    let blob = try await fixture.add("A2", to: next)
    let (a, b) = (try #require(PageURL("http://h/a.js")), try #require(PageURL("http://h/b.js")))
    #expect(try await fixture.store.bundle(at: a)?.blob == blob)
    #expect(try await fixture.store.bundle(at: b)?.blob?.md5 == StoreFixture.bundle("b", "B").md5)
    #expect(try await fixture.store.bundle(at: try #require(PageURL("http://h/c.js"))) == nil)
  }

  @Test("a listed bundle without bytes is found with the bytes from before it was listed")
  func unlistedBytes() async throws {
    let fixture = try StoreFixture()
    let url = try #require(PageURL("http://h/a.js"))
    let download = try await fixture.download("old", of: fixture.store)
    let blob = try await fixture.store.add(download, digests: ContentDigests(of: Array("old".utf8)), for: url)
    _ = try await fixture.register([StoreFixture.bundle("a", "new")])
    #expect(try await fixture.store.bundle(at: url)?.blob == blob)
  }

  @Test("one download serves all entries of the release with the same bytes")
  func sharedBytes() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.register([StoreFixture.bundle("a", "A"), StoreFixture.bundle("b", "A")])
    try await fixture.add("A", to: release)
    #expect(try await fixture.store.contents(of: release).allSatisfy { $0.blob != nil })
    #expect(try await fixture.store.usage().blobs == 1)
  }
}
