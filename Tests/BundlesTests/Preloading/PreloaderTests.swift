import Bundles
import Foundation
import HTTPTransport
import PageTesting
import TestSupport
import Testing

struct PreloaderTests {
  private static let scripts = ["a": "var a = 1", "b": "var b = 2", "c": "var c = 3"]

  @Test("a release is fetched and checked, and becomes current")
  func release() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts, files: ["i/x.png": "picture"])
      let report = try await fixture.preload()
      #expect(report.failures == [])
      #expect(report.activated)
      #expect((report.bundles, report.downloaded, report.files, report.filesDownloaded) == (3, 3, 1, 1))
      #expect(report.requests == 5)
      #expect(try await fixture.stored == Self.scripts.merging(["i/x.png": "picture"]) { first, _ in first })
      #expect(fixture.leftovers == [])
    }
  }

  @Test func aSecondPreloadOfTheSameReleaseMakesOneRequest() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      let before = fixture.origin.requests.count
      let report = try await fixture.preload()
      #expect(fixture.origin.requests.count == before + 1)
      #expect((report.requests, report.upToDate, report.downloaded, report.activated) == (1, 3, 0, false))
      #expect(fixture.origin.requests.last?.headers[.ifNoneMatch] == "\"r1\"")
    }
  }

  @Test(
    "a bundle whose file was removed or changed is fetched again, although the manifest is unchanged",
    arguments: ["removed", "cut off", "written", "a link"])
  func changedFile(_ change: String) async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      let blob = try #require(try await fixture.store.bundle(at: fixture.url("/b/b.js"))?.blob)
      let path = fixture.folder.file("store/blobs/\(blob.sha256.hex.prefix(2))/\(blob.sha256.hex)")
      switch change {
      case "removed": try FileManager.default.removeItem(atPath: path)
      case "cut off": try Damage.overwrite(path, with: "var")
      case "written": try Damage.overwrite(path, with: "var b = 3")
      default:
        try FileManager.default.moveItem(atPath: path, toPath: path + ".moved")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + ".moved")
      }
      let report = try await fixture.preload()
      #expect((report.downloaded, report.upToDate, report.requests) == (1, 2, 2))
      #expect(try await fixture.stored == Self.scripts)
    }
  }

  @Test("processes that preload into one store at once share its downloads")
  func sharedDownloads() async throws {
    try await LoadingFixture.running { fixture in
      let scripts = Dictionary(uniqueKeysWithValues: (0..<12).map { ("p\($0)", "var p = \($0)") })
      try fixture.publish(scripts)
      for name in scripts.keys { fixture.origin.always("/b/\(name).js", .delay(.milliseconds(50), then: .normal)) }
      let other = try fixture.anotherProcess()
      async let first = fixture.preload()
      async let second = other.preload()
      let reports = await [try first, try second]
      #expect(reports.flatMap(\.failures) == [])
      #expect(reports.map { $0.downloaded + $0.upToDate } == [12, 12])
      #expect(reports.map(\.downloaded).reduce(0, +) == 12)
      #expect(fixture.origin.requests.count { $0.path.hasPrefix("/b/") } == 12)
      #expect(try await fixture.stored == scripts && fixture.leftovers == [])
    }
  }

  @Test("a download of another process that stands still is not waited for")
  func stalledDownload() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(["a": "var a = 1"])
      let md5 = try ContentDigests(of: Array("var a = 1".utf8)).md5
      let held = try await fixture.store.download(for: ExpectedContent(md5: md5), url: fixture.url("/b/a.js"))
      let report = try await fixture.preload()
      #expect(report.failures == [] && report.downloaded == 1)
      held.close()
      #expect(try await fixture.stored == ["a": "var a = 1"])
    }
  }

  @Test("only changed bundles are fetched")
  func changedBundles() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      try fixture.publish(Self.scripts.merging(["b": "var b = 22"]) { _, new in new }, release: "r2")
      let report = try await fixture.preload()
      #expect((report.downloaded, report.upToDate, report.activated, report.requests) == (1, 2, true, 2))
      #expect(try await fixture.stored["b"] == "var b = 22")
    }
  }

  @Test("if one bundle fails, the release does not become current, and the other bundles stay")
  func failedBundle() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      try fixture.publish(["a": "var a = 11", "b": "var b = 22", "c": "var c = 3"], release: "r2")
      fixture.origin.always("/b/b.js", .status(404))
      let report = try await fixture.preload()
      #expect(report.failures.map(\.name) == ["b"])
      #expect(report.failures.first?.error.contains("404") == true)
      #expect((report.downloaded, report.activated) == (1, false))
      #expect(try await fixture.stored == Self.scripts)

      fixture.origin.always("/b/b.js", .normal)
      let next = try await fixture.preload()
      #expect((next.downloaded, next.upToDate, next.activated) == (1, 2, true))
    }
  }

  @Test("launch bundles come first, and those on demand are not fetched")
  func order() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts, preload: ["a": .idle, "b": .demand])
      let report = try await fixture.preload(.init(jobs: 1))
      #expect(fixture.origin.requests.dropFirst().map(\.path) == ["/b/c.js", "/b/a.js"])
      #expect((report.onDemand, report.activated) == (1, true))
    }
  }

  @Test("names restrict the fetched bundles")
  func names() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let report = try await fixture.preload(.init(only: ["b", "none"]))
      #expect(fixture.origin.requests.map(\.path) == ["/manifest.json", "/b/b.js"])
      #expect(report.failures.map(\.name) == ["none"])
      #expect(!report.activated)
    }
  }

  @Test("no more downloads run at once than allowed")
  func jobs() async throws {
    try await LoadingFixture.running { fixture in
      let scripts = Dictionary(uniqueKeysWithValues: (0..<40).map { ("p\($0)", "var p = \($0)") })
      try fixture.publish(scripts)
      fixture.origin.hold("/b/*")
      let preloader = Preloader(
        store: fixture.store, verifier: try fixture.verifier(), downloader: try fixture.downloader(),
        options: .init(jobs: 5))
      let preload = preloader.start()
      try await fixture.origin.waitForRequests(5, to: "/b/*")
      // Time for a sixth to come, if there were one: ten whole exchanges with the same server.
      for _ in 0..<10 { _ = try await fixture.client().send(.get, try fixture.url("/other")) }
      #expect(fixture.origin.requestCount(path: "/b/*") == 5)
      fixture.origin.release("/b/*")
      // The number of simultaneous requests is meaningless from here on: the server may still be ending one whose last
      // byte the client has.
      #expect(await preload.report().downloaded == 40)
    }
  }

  @Test func equalContentIsFetchedOnce() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(["a": "same", "b": "same", "c": "other"])
      let report = try await fixture.preload()
      #expect((report.requests, report.downloaded, report.activated) == (3, 3, true))
      #expect(try await fixture.stored["b"] == "same")
    }
  }

  @Test("while the server is unreachable, the stored release stays and the reason is reported")
  func unreachableServer() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      try await fixture.origin.refuseConnections()
      let report = try await fixture.preload()
      #expect(report.failures.map(\.name) == ["manifest"])
      #expect(report.failures.first?.error.contains("cannot connect") == true)
      #expect((report.upToDate, report.release) == (3, "r1"))
      #expect(try await fixture.stored == Self.scripts)
    }
  }

  @Test("offline no request is sent, and missing bundles are named")
  func offline() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload(.init(only: ["a"]))
      let before = fixture.origin.requests.count
      let report = try await fixture.preload(.init(isOffline: true))
      #expect(fixture.origin.requests.count == before)
      #expect(report.failures.map(\.name) == ["b", "c"])
      #expect((report.upToDate, report.requests) == (1, 0))
    }
  }

  @Test("offline a complete release has no failures")
  func offlineRelease() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      let report = try await fixture.preload(.init(isOffline: true))
      #expect(report.failures == [])
      #expect(report.upToDate == 3)
    }
  }

  @Test("a release that exceeds its limit is stopped")
  func releaseLimit() async throws {
    try await LoadingFixture.running { fixture in
      let scripts = Dictionary(
        uniqueKeysWithValues: (0..<20).map { ("p\($0)", "var p = \($0)" + String(repeating: " ", count: 1000)) })
      try fixture.publish(scripts, withSizes: false)
      let report = try await fixture.preload(.init(jobs: 1, releaseLimit: 5000))
      #expect(!report.activated)
      #expect(report.failures.first?.error.contains("more than the limit of 5000") == true)
      #expect(fixture.origin.requests.count < 15)
    }
  }

  @Test("a release that does not fit on the disk is not started")
  func fullDisk() async throws {
    try await LoadingFixture.running { fixture in
      // More than any disk: promised in the manifest only.
      var manifest = try fixture.publish(Self.scripts)
      manifest.bundles[0].size = 60 << 20
      let store = try BundleStore(at: fixture.store.directory, freeSpace: { _ in 1 << 20 })
      fixture.origin.serve("/manifest.json", Array(try JSON.encode(manifest)), etag: "\"full\"")
      let preloader = Preloader(
        store: store,
        verifier: LaunchVerifier(
          source: try fixture.source, store: store, client: try fixture.client()),
        downloader: try fixture.downloader())
      let report = await preloader.start().report()
      #expect(report.failures.first?.error.contains("free some space") == true)
      #expect(fixture.origin.requests.map(\.path) == ["/manifest.json"])
    }
  }

  @Test("a report is encoded with the members that scripts read")
  func json() throws {
    var report = PreloadReport()
    (report.release, report.sequence, report.held) = ("r2", 2, "r1")
    (report.bundles, report.upToDate, report.downloaded, report.resumed, report.deltas) = (9, 1, 2, 3, 4)
    (report.copied, report.onDemand, report.notFetched) = (5, 6, 7)
    (report.files, report.filesUpToDate, report.filesDownloaded, report.filesCopied) = (11, 12, 13, 14)
    (report.prefetched, report.prefetchSkipped, report.prefetchFailures) = (15, 16, ["/x: 500"])
    (report.bytesDownloaded, report.requests, report.elapsed) = (17, 18, .microseconds(1_234_567))
    (report.isInterrupted, report.activated, report.disabled) = (true, true, ["pay"])
    report.failures = [.init(name: "a", error: "no", cause: ContentError.cutShort(url: "a", encoding: "gzip"))]
    report.leftOut = [.init(name: "i.png", error: "other bytes")]
    let expected = """
      {"activated": true, "bad": null, "bundles": 9, "bytesDownloaded": 17, "copied": 5, "deltas": 4,
       "disabled": ["pay"], "downloaded": 2, "failed": 1, "failures": [{"error": "no", "name": "a"}], "files": 11,
       "filesCopied": 14, "filesDownloaded": 13, "filesUpToDate": 12, "held": "r1", "interrupted": true,
       "leftOut": [{"error": "other bytes", "name": "i.png"}], "notFetched": 7, "onDemand": 6,
       "prefetchFailures": ["/x: 500"], "prefetchSkipped": 16, "prefetched": 15, "release": "r2", "requests": 18,
       "resumed": 3, "seconds": 1.235, "sequence": 2, "upToDate": 1, "withheld": null}
      """
    let found = try JSONValue(reading: Array(JSONEncoder().encode(report)))
    #expect(try found == JSONValue(reading: Array(expected.utf8)))
  }

  @Test("a manifest that the server wrongly calls unchanged is fetched again")
  func contradictedManifest() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload(.init(only: ["a", "b"]))
      // The server has a newer release, but answers 304.
      try fixture.publish(["a": "var a = 1", "b": "var b = 2", "c": "var c = 33"], release: "r2", etag: "\"r1\"")
      let report = try await fixture.preload()
      #expect(report.failures == [])
      #expect((report.release, report.activated) == ("r2", true))
      #expect(try await fixture.stored["c"] == "var c = 33")
      let manifests = fixture.origin.requests(to: "/manifest.json")
      #expect(manifests.last?.headers[.ifNoneMatch] == nil)
    }
  }

  @Test("a cancelled preload leaves nothing inconsistent, and the next one continues")
  func cancelling() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      fixture.origin.hold("/b/c.js")
      let preloader = Preloader(
        store: fixture.store, verifier: try fixture.verifier(), downloader: try fixture.downloader(),
        options: .init(jobs: 1))
      let preload = preloader.start()
      try await fixture.origin.waitForRequests(1, to: "/b/c.js")
      preload.cancel()
      let report = await preload.report()
      #expect((report.isInterrupted, report.failures.count, report.notFetched) == (true, 0, 1))
      #expect((report.downloaded, report.activated) == (2, false))
      fixture.origin.release("/b/c.js")
      let next = try await fixture.preload()
      #expect((next.upToDate, next.downloaded, next.activated) == (2, 1, true))
    }
  }

  @Test func aManifestFileReadsItsBundlesFromDisk() async throws {
    try await LoadingFixture.running { fixture in
      let manifest = try fixture.publish(Self.scripts)
      let root = fixture.folder.file("site")
      for (name, text) in Self.scripts { try Files.write(text, to: "\(root)/b/\(name).js") }
      try Files.write(String(decoding: try JSON.encode(manifest), as: UTF8.self), to: "\(root)/manifest.json")
      let source = try #require(PageURL(filePath: "\(root)/manifest.json"))
      let preloader = Preloader(
        store: fixture.store,
        verifier: LaunchVerifier(
          source: source, store: fixture.store, client: try fixture.client()),
        downloader: try fixture.downloader())
      let report = await preloader.start().report()
      #expect(report.failures == [])
      #expect((report.copied, report.downloaded, report.requests, report.bytesDownloaded) == (3, 0, 0, 0))
      #expect(report.activated)
      #expect(fixture.origin.requests.isEmpty)
      // The files are the user's: they stay.
      #expect(Files.exists("\(root)/b/a.js"))
    }
  }

  @Test("a thousand unchanged bundles cost one request")
  func unchangedBundles() async throws {
    try await LoadingFixture.running { fixture in
      let scripts = Dictionary(uniqueKeysWithValues: (0..<1000).map { ("p\($0)", "var page = \($0)") })
      try fixture.publish(scripts)
      #expect(try await fixture.preload().downloaded == 1000)
      let before = fixture.origin.requests.count
      let report = try await fixture.preload()
      #expect(fixture.origin.requests.count - before == 1)
      #expect(report.upToDate == 1000)
    }
  }
}
