import Blobs
import Bundles
import HTTPCaching
import HTTPTransport
import PageTesting
import Synchronization
import TestSupport
import Testing

struct QuotaTests {
  /// A store whose time is set by the test.
  private final class Timed: Sendable {
    let folder: TemporaryDirectory
    let store: BundleStore
    private let time: Mutex<Double>

    init(_ quotas: StoreQuotas) throws {
      let folder = try TemporaryDirectory()
      let clock = Clock()
      self.folder = folder
      self.clock = clock
      time = Mutex(0)
      store = try BundleStore(at: StoreDirectory(folder.path), quotas: quotas, now: { clock.now })
    }

    let clock: Clock

    final class Clock: Sendable {
      private let time = Mutex(1_000_000.0)
      var now: Double { time.withLock(\.self) }
      func advance(_ seconds: Double) { time.withLock { $0 += seconds } }
    }

    func addUnlisted(_ name: String, _ text: String) async throws {
      let url = try #require(PageURL("http://h/\(name).js"))
      let digests = try ContentDigests(of: Array(text.utf8))
      let download = try await store.download(for: ExpectedContent(md5: digests.md5), url: url)
      try download.begin(DownloadHead(url: url))
      try download.append(wire: Array(text.utf8))
      _ = try await store.add(download, digests: digests, for: url)
      clock.advance(100)
    }

    func open(_ name: String) async throws -> Bool {
      defer { clock.advance(100) }
      return try await store.bundle(at: try #require(PageURL("http://h/\(name).js"))) != nil
    }
  }

  @Test("bundles outside manifests are evicted, the least recently used first")
  func unlistedBundles() async throws {
    let fixture = try Timed(StoreQuotas(unlisted: 10))
    for name in ["a", "b", "c"] { try await fixture.addUnlisted(name, "\(name)234") }
    // The third bundle exceeds the quota: the first one was removed.
    #expect(try await fixture.store.unlisted().map(\.url.text) == ["http://h/c.js", "http://h/b.js"])
    #expect(try await fixture.open("b"))
    try await fixture.addUnlisted("d", "d234")
    #expect(try await fixture.store.unlisted().map(\.url.text) == ["http://h/d.js", "http://h/b.js"])
    #expect(try await fixture.open("c") == false)
    #expect(try await fixture.store.usage().blobs == 2)
    #expect(try fixture.folder.names(in: "blobs").flatMap { try fixture.folder.names(in: "blobs/\($0)") }.count == 2)
  }

  @Test("the most recently used bundle stays, however large it is")
  func lastUsedBundle() async throws {
    let fixture = try Timed(StoreQuotas(unlisted: 3))
    try await fixture.addUnlisted("a", "12345")
    #expect(try await fixture.open("a"))
    #expect(try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false).unlisted == 0)
  }

  @Test("bytes that a release shares are not removed with a bundle outside manifests")
  func sharedBytes() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.activated(["a": "A"])
    for (name, text) in [("x", "A"), ("y", "B")] {
      let download = try await fixture.download(text, of: fixture.store)
      _ = try await fixture.store.add(
        download, digests: ContentDigests(of: Array(text.utf8)), for: try #require(PageURL("http://h/\(name).js")))
    }
    let report = try await fixture.store.collectGarbage(
      keepingPrevious: false, dryRun: false, quotas: StoreQuotas(unlisted: 1))
    #expect(report.unlisted == 1)
    #expect(report.blobs == 0)
    let blob = try #require(try await fixture.store.contents(of: release).first?.blob)
    try await fixture.store.check(blob)
  }

  @Test("over the quota, former releases are evicted first, and then the least recently used sources")
  func releases() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.activated(["a": "old1"], named: "r1")
    let current = try await fixture.activated(["a": "new1"], named: "r2")
    let other = try #require(PageURL("http://other/manifest.json"))
    let release = try await fixture.register([StoreFixture.bundle("a", "other1")], named: "x1", for: other)
    try await fixture.add("other1", to: release)
    #expect(try await fixture.store.activate(release))

    func collect(_ quota: Int64) async throws -> [String] {
      try await fixture.store.collectGarbage(
        keepingPrevious: true, dryRun: false, quotas: StoreQuotas(releases: quota)
      ).removed.map(\.name)
    }
    #expect(try await collect(14) == [])
    #expect(try await collect(10) == ["release r1 of http://h/manifest.json"])
    #expect(try await collect(6) == ["release r2 of http://h/manifest.json"])
    #expect(try await fixture.store.sources().map(\.url) == [other])
    // The most recently used source keeps its releases.
    #expect(try await collect(0) == [])
    #expect(try await fixture.store.contents(of: current).isEmpty)
  }

  @Test("a release that a page uses stays until the page is gone, over any quota and after its source was forgotten")
  func viewedRelease() async throws {
    let fixture = try StoreFixture()
    let first = try await fixture.activated(["a": "1"], named: "r1")
    _ = try await fixture.activated(["a": "2"], named: "r2")
    var lease: ReleaseLease? = try await fixture.reopened().lease(first)
    let none = StoreQuotas(releases: 0)
    let report = try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false, quotas: none)
    #expect(Set(report.kept.map(\.reason)) == ["a page that is open sees it", "current"])
    #expect(try await fixture.store.forget(fixture.source))
    #expect(try await fixture.store.sources().isEmpty)
    _ = try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false)
    #expect(try await fixture.store.contents(of: first).map { $0.blob != nil } == [true])
    withExtendedLifetime(lease) {}
    lease = nil
    #expect(try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false).blobs == 1)
    #expect(try await fixture.store.contents(of: first).isEmpty)
  }

  @Test("a collection gives the reason for every item that stays or is removed")
  func reasons() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.activated(["a": "1"], named: "r1")
    _ = try await fixture.activated(["a": "2"], named: "r2")
    _ = try await fixture.register([StoreFixture.bundle("a", "3")], named: "r3")
    let download = try await fixture.download("X", of: fixture.store)
    _ = try await fixture.store.add(
      download, digests: ContentDigests(of: Array("X".utf8)), for: try #require(PageURL("http://h/x.js")))
    let busy = try await fixture.download("busy", of: fixture.store)
    let kept = try await fixture.store.collectGarbage(keepingPrevious: true, dryRun: false).kept
    let md5 = try ContentDigests(of: Array("busy".utf8)).md5
    #expect(
      Set(kept.map { "\($0.name): \($0.reason)" }) == [
        "download \(md5): a process is at it",
        "http://h/x.js: in no manifest, within what such bundles may take",
        "release r1 of http://h/manifest.json: the one before the current one",
        "release r2 of http://h/manifest.json: current",
        "release r3 of http://h/manifest.json: coming in",
      ])
    let removed = try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: true).removed
    #expect(
      removed.map { "\($0.name): \($0.reason)" } == ["release r1 of http://h/manifest.json: another took its place"])
    busy.close()
  }
}
