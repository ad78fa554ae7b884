import HTTPTypes
import PageTesting
import TestSupport
import Testing

@testable import HTTPCache
@testable import HTTPTransport

struct PrefetchTests {
  @Test("a preloaded page has its pictures and data although the server is unreachable")
  func prefetchedPage() async throws {
    try await PrefetchFixture.running { fixture in
      try fixture.publish(["home": ["/api/home.json", "img/remote.png"]], files: ["logo.png": "logo"])
      fixture.serve("/api/home.json", "data", [.cacheControl: "max-age=1"])
      fixture.serve("/img/remote.png", "picture", [:])
      let report = try await fixture.preload()
      #expect((report.prefetched, report.prefetchSkipped, report.activated) == (2, 0, true))
      #expect(report.prefetchFailures == [])
      try await fixture.origin.refuseConnections()
      let loader = fixture.nextLaunch()
      #expect(try await fixture.text("/api/home.json", by: loader) == "data")
      #expect(try await fixture.text("/img/remote.png", by: loader) == "picture")
      #expect(try await fixture.text("/b/logo.png", by: loader) == "logo")
    }
  }

  @Test("prefetched responses are not evicted until no release lists them")
  func keptResponses() async throws {
    try await PrefetchFixture.running { fixture in
      try fixture.publish(["home": ["/a", "/b"]])
      fixture.serve("/a", "one")
      fixture.serve("/b", "two")
      #expect(try await fixture.preload().prefetched == 2)
      try await fixture.cache.setDiskCapacity(0)
      #expect(try await fixture.cache.usage().disk.keptEntries == 2)
      try fixture.publish(["home": ["/b"]], release: "r2")
      #expect(try await fixture.preload().prefetched == 1)
      #expect(try await fixture.cache.usage().disk.keptEntries == 1)
      #expect(try await fixture.text("/b", .cacheOnly) == "two")
    }
  }

  @Test func aRedirectIsKeptWithItsTarget() async throws {
    try await PrefetchFixture.running { fixture in
      fixture.origin.respond("/a") { _ in
        OriginResponse(status: .movedPermanently, headers: [.location: "/b", .cacheControl: "max-age=60"])
      }
      fixture.serve("/b", "text")
      try fixture.publish(["home": ["/a"]])
      #expect(try await fixture.preload().prefetched == 1)
      #expect(try await fixture.cache.usage().disk.keptEntries == 2)
      try await fixture.origin.refuseConnections()
      #expect(try await fixture.text("/a", by: fixture.nextLaunch()) == "text")
      _ = await Prefetcher(fixture.resources).prefetch([], base: try fixture.loading.source, dropping: ["/a"])
      #expect(try await fixture.cache.usage().disk.keptEntries == 0)
    }
  }

  @Test("a response that cannot be fetched is named, and the release becomes current")
  func failedPrefetch() async throws {
    try await PrefetchFixture.running { fixture in
      try fixture.publish(["home": ["/none", "/secret", "/a"]])
      fixture.serve("/secret", "text", [.cacheControl: "no-store"])
      fixture.serve("/a", "text")
      let report = try await fixture.preload()
      #expect((report.prefetched, report.activated, report.failures.count) == (1, true, 0))
      #expect(report.prefetchFailures.map { String($0.prefix { $0 != ":" }) } == ["/none", "/secret"])
    }
  }

  @Test("files of the release itself are not prefetched")
  func ownFiles() async throws {
    try await PrefetchFixture.running { fixture in
      try fixture.publish(["home": ["b/logo.png"]], files: ["logo.png": "logo"])
      let report = try await fixture.preload()
      #expect((report.prefetched, report.prefetchFailures) == (1, []))
      #expect(fixture.origin.requestCount(path: "/b/logo.png") == 1)
    }
  }
}

struct ReleaseFileTests {
  @Test(
    "files of the release answer requests while the server is unreachable",
    arguments: ["automatic", "protocolCache", "cacheFirst", "networkFirst", "cacheOnly", "staleWhileRevalidate"])
  func releaseFiles(_ name: String) async throws {
    try await PrefetchFixture.running { fixture in
      try fixture.publish(["home": []], files: ["logo.png": "logo"])
      _ = try await fixture.preload()
      try await fixture.origin.refuseConnections()
      let behavior = try #require(LoadBehavior(named: name))
      #expect(try await fixture.text("/b/logo.png?random=3", behavior, by: fixture.nextLaunch()) == "logo")
    }
  }

  @Test("all simultaneous requests after a launch get the release's files")
  func simultaneousRequests() async throws {
    try await PrefetchFixture.running { fixture in
      try fixture.publish(["home": []], files: ["logo.png": "logo"])
      _ = try await fixture.preload()
      try await fixture.origin.refuseConnections()
      let loader = fixture.nextLaunch()
      try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<50 { group.addTask { try await fixture.text("/b/logo.png", by: loader) } }
        for try await text in group { #expect(text == "logo") }
      }
    }
  }

  @Test("files of the release have their content type and need no network")
  func contentTypes() async throws {
    try await PrefetchFixture.running { fixture in
      try fixture.publish(["home": []], files: ["logo.png": "logo"])
      _ = try await fixture.preload()
      let before = fixture.origin.requests.count
      let url = fixture.origin.url(for: "/b/logo.png")
      let loaded = try await fixture.nextLaunch().response(for: ResourceRequest(url))
      #expect(loaded.source == .release)
      #expect(loaded.response.headerFields[.contentType] == "image/png")
      #expect(fixture.origin.requests.count == before)
      let insisted = try await fixture.nextLaunch().response(for: ResourceRequest(url, behavior: .networkOnly))
      #expect(insisted.source == .network)
      var updates: [ResourceUpdate] = []
      let request = ResourceRequest(url, behavior: .cacheThenNetwork)
      for await update in fixture.nextLaunch().updates(for: request) { updates.append(update) }
      #expect(updates.count == 1)
      guard case .cached(let logo)? = updates.first else {
        Issue.record("it came as \(updates)")
        return
      }
      #expect(String(decoding: try await logo.body.collect(), as: UTF8.self) == "logo")
    }
  }
}

struct DataSaverTests {
  @Test("switch, budget and pause decide whether background loading may begin")
  func dataSaver() {
    let saver = DataSaver()
    #expect(saver.allowsIdleWork)
    saver.isOn = true
    #expect(!saver.allowsIdleWork)
    saver.isOn = false
    saver.pause()
    #expect(!saver.allowsIdleWork)
    saver.resume()
    saver.budget = 10
    saver.spend(9)
    #expect(saver.allowsIdleWork)
    #expect(saver.budget == 1)
    saver.spend(9)
    #expect(!saver.allowsIdleWork)
    #expect(saver.budget == 0)
    saver.budget = nil
    #expect(saver.allowsIdleWork)
  }

  @Test(
    "if the data saver forbids it, idle bundles and prefetching wait, and the release becomes current",
    arguments: ["switch", "pause", "budget"])
  func forbiddenLoading(_ how: String) async throws {
    try await PrefetchFixture.running { fixture in
      try fixture.publish(["home": ["/a"], "late": []], preload: ["late": .idle])
      fixture.serve("/a", "text")
      switch how {
      case "switch": fixture.saver.isOn = true
      case "pause": fixture.saver.pause()
      default: fixture.saver.budget = 0
      }
      let report = try await fixture.preload()
      #expect((report.activated, report.failures.count, report.downloaded) == (true, 0, 1))
      #expect((report.prefetched, report.prefetchSkipped) == (0, 1))
      #expect(fixture.origin.requests.map(\.path) == ["/manifest.json", "/b/home.js"])
      fixture.saver.isOn = false
      fixture.saver.resume()
      fixture.saver.budget = nil
      let next = try await fixture.preload()
      #expect((next.downloaded, next.prefetched, next.prefetchSkipped) == (1, 1, 0))
    }
  }

  @Test("only bytes from the network count towards the budget")
  func budget() async throws {
    try await PrefetchFixture.running { fixture in
      let content = String(repeating: "x", count: 20_000)
      let packed = try Gzip.encode(content)
      fixture.origin.serve(
        "/a", packed, etag: "\"1\"", headers: [.contentEncoding: "gzip", .cacheControl: "max-age=0"])
      for path in ["/b", "/c"] { fixture.serve(path, String(repeating: "y", count: 600)) }
      fixture.saver.budget = Int64(packed.count) + 100
      let prefetcher = Prefetcher(fixture.resources, jobs: 1)
      let first = await prefetcher.prefetch(["/a"], base: try fixture.loading.source)
      #expect((first.kept, fixture.saver.budget) == (1, 100))
      let again = await prefetcher.prefetch(["/a"], base: try fixture.loading.source)
      #expect((again.kept, fixture.saver.budget) == (1, 100))
      let rest = await prefetcher.prefetch(["/b", "/c"], base: try fixture.loading.source)
      #expect((rest.kept, rest.skipped, fixture.saver.budget) == (1, 1, 0))
      #expect(try await fixture.text("/a", .cacheOnly) == content)
    }
  }

  @Test("only failed prefetches are tried again")
  func failedPrefetches() async throws {
    try await PrefetchFixture.running { fixture in
      try fixture.publish(["a": ["/one.json", "/two.json", "/none.json"]])
      fixture.serve("/one.json", "1", [.cacheControl: "max-age=0", .eTag: "\"1\""])
      fixture.serve("/two.json", "2")
      fixture.origin.always("/two.json", .status(503))
      let pauses = Recorder<Duration>()
      let preload = try fixture.preloader { [origin = fixture.origin] pause in
        pauses.append(pause)
        if pauses.all.count == 2 { origin.always("/two.json", .normal) }
      }.start(.standard)
      let report = await preload.report()
      #expect((report.failures, report.prefetched, report.activated) == ([], 2, true))
      #expect(report.prefetchFailures.map { $0.prefix(10) } == ["/none.json"])
      #expect(fixture.origin.requestCount(path: "/two.json") == 3)
      #expect(fixture.origin.requestCount(path: "/one.json") == 1)
      #expect(fixture.origin.requestCount(path: "/none.json") == 1)
      #expect(fixture.origin.requestCount(path: "/manifest.json") == 1)
    }
  }
}
