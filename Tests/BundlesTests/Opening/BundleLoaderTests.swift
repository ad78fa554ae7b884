import HTTPTransport
import PageTesting
import Releases
import Synchronization
import TestSupport
import Testing

@testable import Bundles

struct BundleLoaderTests {
  private static let scripts = ["a": "var a = 1", "b": "var b = 2"]

  private static func text(_ bundle: LoadedBundle) -> String { String(decoding: bundle.bytes, as: UTF8.self) }

  @Test("a stored page opens from the store after the server has confirmed it")
  func confirmedPage() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      let before = fixture.origin.requests.count
      let loader = try fixture.loader(try fixture.verifier())
      let url = try fixture.url("/b/a.js")
      let first = try await loader.load(url)
      #expect((first.source, first.isVerified, Self.text(first), first.url) == (.store, true, "var a = 1", url))
      let second = try await loader.load(url)
      #expect(second.source == .memory)
      let digest = try ContentDigests(of: first.bytes).sha256
      #expect((first.sha256, second.sha256) == (digest, digest))
      _ = try await loader.load(try fixture.url("/b/b.js"))
      #expect(fixture.origin.requests.count == before + 1)
    }
  }

  private struct BrokenClock: Error {}

  /// A clock on which waiting fails as soon as the server has a request.
  private struct StoppedClock: Clock {
    typealias Instant = ContinuousClock.Instant

    let origin: FaultOrigin
    var now: Instant { .now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
      try await origin.waitForRequests(1)
      throw BrokenClock()
    }
  }

  @Test("an opening whose waiting fails leaves no walk behind")
  func failedWait() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      // The walk would never end by itself.
      fixture.origin.hold("/b/a.js")
      let loader = try fixture.loader(nil, time: TimeSource(StoppedClock(origin: fixture.origin)))
      await #expect(throws: BrokenClock.self) { try await loader.load(try fixture.url("/b/a.js")) }
      let hasEnded = Monitor(false)
      let ending = Task {
        await loader.walks.finish()
        hasEnded.change { $0 = true }
      }
      try await hasEnded.wait(within: .seconds(60)) { $0 }
      await ending.value
      #expect(fixture.origin.requestCount(path: "/b/a.js") <= 1)
    }
  }

  @Test("the server is asked again if the release of its answer was collected meanwhile")
  func collectedRelease() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      let loader = try fixture.loader(try fixture.verifier())
      _ = try await loader.load(try fixture.url("/b/a.js"))
      try await fixture.store.execute("UPDATE source SET current = NULL; DELETE FROM \"release\"")
      let page = try await loader.load(try fixture.url("/b/b.js"))
      #expect((page.isVerified, page.note) == (true, nil))
    }
  }

  @Test func aPageThatIsNotStoredIsFetchedAndStored() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let loader = try fixture.loader(try fixture.verifier())
      let first = try await loader.load(try fixture.url("/b/a.js"))
      #expect((first.source, first.isVerified) == (.network, true))
      #expect(try await loader.load(try fixture.url("/b/a.js")).source != .network)
      #expect(fixture.origin.requestCount(path: "/b/a.js") == 1)
    }
  }

  @Test func aHundredOpensOfOnePageFetchItOnce() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let loader = try fixture.loader(try fixture.verifier())
      let url = try fixture.url("/b/a.js")
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<100 {
          group.addTask {
            let page = try await loader.load(url)
            #expect(Self.text(page) == "var a = 1")
          }
        }
        try await group.waitForAll()
      }
      #expect(fixture.origin.requestCount(path: "/b/a.js") == 1)
    }
  }

  @Test func aPageThatChangedOnTheServerIsFetchedAtTheNextLaunch() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      let verifier = try fixture.verifier()
      let loader = try fixture.loader(verifier)
      let url = try fixture.url("/b/a.js")
      _ = try await loader.load(url)
      try fixture.publish(["a": "var a = 11", "b": "var b = 2"], release: "r2")
      #expect(Self.text(try await loader.load(url)) == "var a = 1")
      await verifier.relaunch()
      let fresh = try await loader.load(url)
      #expect((fresh.source, Self.text(fresh)) == (.network, "var a = 11"))
    }
  }

  @Test("while a release is downloaded, a host may stay with the old one")
  func releaseConsistency() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      try fixture.publish(["a": "var a = 11", "b": "var b = 2", "c": "var c = 3"], release: "r2")
      _ = try await fixture.preload(.init(only: ["a"]))
      let loader = try fixture.loader(try fixture.verifier(), consistency: .release)
      let old = try await loader.load(try fixture.url("/b/a.js"))
      #expect((old.source, Self.text(old), old.isVerified) == (.store, "var a = 1", false))
      #expect(old.note?.contains("release r2 is still coming in") == true)
      // One bundle is in both releases, the other only in the new one.
      #expect(try await loader.load(try fixture.url("/b/b.js")).isVerified)
      #expect(Self.text(try await loader.load(try fixture.url("/b/c.js"))) == "var c = 3")

      #expect(try await fixture.preload().activated)
      let new = try await fixture.loader(try fixture.verifier(), consistency: .release).load(try fixture.url("/b/a.js"))
      #expect((Self.text(new), new.isVerified) == ("var a = 11", true))
    }
  }

  @Test("if the new bytes cannot be fetched, the old ones run and are reported as stale")
  func staleBytes() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      try fixture.publish(["a": "var a = 11", "b": "var b = 2"], release: "r2")
      fixture.origin.always("/b/a.js", .status(404))
      let loader = try fixture.loader(try fixture.verifier())
      let stale = try await loader.load(try fixture.url("/b/a.js"))
      #expect((stale.source, stale.isVerified, Self.text(stale)) == (.stale, false, "var a = 1"))
      #expect(stale.note?.contains("404") == true)
      await #expect(throws: BundleError.self) {
        try await loader.load(try fixture.url("/b/a.js"), options: .init(policy: .networkOnly))
      }
    }
  }

  @Test("stored pages open while the server is unreachable")
  func unreachableServer() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      try await fixture.origin.refuseConnections()
      let loader = try fixture.loader(try fixture.verifier())
      let page = try await loader.load(try fixture.url("/b/a.js"))
      #expect((page.source, page.isVerified) == (.store, false))
      #expect(page.note?.contains("cannot connect") == true)
      await #expect(throws: BundleError.self) { try await loader.load(try fixture.url("/b/none.js")) }
    }
  }

  @Test("a stored page opens when the first attempt does not reach the server, and further attempts go on behind")
  func refusedConnection() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      try await fixture.origin.refuseConnections()
      let pauses = Monitor(0)
      let sleep: @Sendable (Duration) async throws -> Void = { _ in
        pauses.change { $0 += 1 }
        try await Task.sleep(for: .seconds(600))
      }
      let verifier = try fixture.verifier(attempts: 4, sleep: sleep)
      let loader = try fixture.loader(verifier)
      for _ in 1...2 {
        let page = try await loader.load(try fixture.url("/b/a.js"))
        #expect([.store, .memory].contains(page.source) && !page.isVerified)
        #expect(page.note?.contains("cannot connect") == true, "\(page.note ?? "")")
      }
      #expect(
        try await loader.verified(policy: .networkFirst(deadline: .seconds(60)), canShow: true)?.release.name == nil)
      // The question is one, and waits for its second attempt.
      #expect(pauses.read { $0 } == 1)
      await verifier.shutDown()
      await loader.shutDown()
    }
  }

  @Test("an opening does not wait longer than the deadline for the server's MD5s")
  func slowManifest() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      fixture.origin.hold("/manifest.json")
      let loader = try fixture.loader(try fixture.verifier(), policy: .networkFirst(deadline: .milliseconds(50)))
      let page = try await loader.load(try fixture.url("/b/a.js"))
      // Both the deadline and the opening may have read the bytes; the second reading comes from memory.
      #expect([.store, .memory].contains(page.source))
      #expect(!page.isVerified)
      #expect(page.note?.contains("not known after 0.05 s") == true)
      fixture.origin.release("/manifest.json")
    }
  }

  @Test("no request is sent while the setting is offline")
  func offline() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      let before = fixture.origin.requests.count
      let loader = try fixture.loader(try fixture.verifier())
      #expect(try await loader.load(try fixture.url("/b/a.js"), options: .init(policy: .cacheOnly)).source == .store)
      await #expect(throws: BundleError.self) {
        try await loader.load(try fixture.url("/b/none.js"), options: .init(policy: .cacheOnly))
      }
      #expect(fixture.origin.requests.count == before)
    }
  }

  @Test("a changed byte in the store is detected and fetched again")
  func damagedBytes() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      let url = try fixture.url("/b/a.js")
      let blob = try #require(try await fixture.store.bundle(at: url)?.blob)
      let hex = blob.sha256.hex
      try Files.flipFirstByte(fixture.folder.file("store/blobs/\(hex.prefix(2))/\(hex)"))
      let loader = try fixture.loader(try fixture.verifier())
      let page = try await loader.load(url)
      #expect((page.source, Self.text(page)) == (.network, "var a = 1"))
      #expect(page.sha256 == (try ContentDigests(of: page.bytes)).sha256)
      #expect(try await loader.load(url).source != .network)
      try await fixture.origin.refuseConnections()
      try Files.flipFirstByte(fixture.folder.file("store/blobs/\(hex.prefix(2))/\(hex)"))
      let offline = try fixture.loader(nil)
      // The checked bytes are in memory; another process would not have them.
      #expect(try await offline.load(url, options: .init(policy: .cacheOnly)).source == .memory)
    }
  }

  @Test func aBundleOutsideTheManifestIsCheckedAgainstItsMD5File() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let text = "var loose = 1"
      let md5 = try ContentDigests(of: Array(text.utf8)).md5
      fixture.origin.serve("/loose.js", Array(text.utf8))
      fixture.origin.serve("/loose.js.md5", Array("\(md5)  loose.js\n".utf8))
      let loader = try fixture.loader(try fixture.verifier())
      let url = try fixture.url("/loose.js")
      let first = try await loader.load(url)
      #expect((first.source, first.isVerified) == (.network, true))
      #expect(try await loader.load(url).isVerified)
      #expect(fixture.origin.requestCount(path: "/loose.js") == 1)
      fixture.origin.serve("/loose.js", Array("var damaged".utf8))
      fixture.origin.serve("/loose.js.md5", Array("\(try ContentDigests(of: Array("var other".utf8)).md5)\n".utf8))
      #expect(try await loader.load(url).isVerified, "asked once per launch")
      await loader.relaunch()
      await #expect(throws: BundleError.self) { try await loader.load(url, options: .init(policy: .networkOnly)) }
    }
  }

  @Test("a bundle outside the manifest is checked against the digest of a HEAD response")
  func headDigest() async throws {
    try await LoadingFixture.running { fixture in
      let text = "var loose = 1"
      let md5 = try ContentDigests(of: Array(text.utf8)).md5
      fixture.origin.serve("/loose.js", Array(text.utf8), etag: "\"\(md5)\"")
      let loader = try fixture.loader(nil)
      let url = try fixture.url("/loose.js")
      #expect(try await loader.load(url).source == .network)
      #expect(try await loader.load(url).isVerified)
      #expect(fixture.origin.requests(to: "/loose.js").map(\.method) == [.head, .get])
      await loader.relaunch()
      #expect(try await loader.load(url).isVerified)
      #expect(fixture.origin.requests(to: "/loose.js").map(\.method) == [.head, .get, .head])
    }
  }

  @Test("without an MD5 from the server, the bytes are fetched once per launch")
  func serverWithoutMD5() async throws {
    try await LoadingFixture.running { fixture in
      fixture.origin.serve("/loose.js", Array("var loose = 1".utf8), etag: "\"65a1b2c3-d\"")
      let loader = try fixture.loader(nil)
      let url = try fixture.url("/loose.js")
      #expect(Self.text(try await loader.load(url)) == "var loose = 1")
      #expect(try await loader.load(url).source != .network)
      #expect(fixture.origin.requests(to: "/loose.js").map(\.method) == [.head, .get])
      fixture.origin.serve("/loose.js", Array("var loose = 2".utf8), etag: "\"65a1b2c4-d\"")
      await loader.relaunch()
      let newer = try await loader.load(url)
      #expect((newer.source, Self.text(newer)) == (.network, "var loose = 2"))
      #expect(Self.text(try await loader.load(url)) == "var loose = 2")
      #expect(fixture.origin.requests(to: "/loose.js").map(\.method) == [.head, .get, .head, .get])
      // If the bytes cannot be fetched, the stored ones are shown.
      await loader.relaunch()
      fixture.origin.always("/loose.js", .status(500))
      #expect(Self.text(try await loader.load(url)) == "var loose = 2")
    }
  }

  @Test("an ETag that is not an MD5 rejects no bytes")
  func otherETag() async throws {
    try await LoadingFixture.running { fixture in
      fixture.origin.serve("/loose.js", Array("var loose = 1".utf8), etag: "\"\(String(repeating: "0", count: 32))\"")
      let page = try await fixture.loader(nil).load(try fixture.url("/loose.js"))
      #expect(Self.text(page) == "var loose = 1")
    }
  }

  @Test("a server with another manifest for each question, and wrong bytes for each, gets few requests")
  func changingManifests() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let count = Mutex(0)
      fixture.origin.respond("/manifest.json") { _ in
        let number = count.withLock { count in
          count += 1
          return count
        }
        let digests = try ContentDigests(of: Array("other \(number)".utf8))
        let manifest = Manifest(
          release: "r\(number)", sequence: 1, base: "b/", bundles: [.init(name: "a", path: "a.js", md5: digests.md5)])
        return OriginResponse(headers: [.contentType: "application/json"], body: try manifest.fileBytes())
      }
      let loader = try fixture.loader(try fixture.verifier(.everyOpen))
      await #expect(throws: BundleError.self) { try await loader.load(try fixture.url("/b/a.js")) }
      #expect(fixture.origin.requests.count <= 10, "\(fixture.origin.requests.count) requests")
    }
  }

  @Test("a manifest that the server wrongly calls unchanged is fetched again")
  func contradictedManifest() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts, preload: ["a": .demand])
      _ = try await fixture.preload()
      try fixture.publish(["a": "var a = 11", "b": "var b = 2"], release: "r2", etag: "\"r1\"")
      let page = try await fixture.loader(try fixture.verifier()).load(try fixture.url("/b/a.js"))
      #expect((page.source, Self.text(page), page.isVerified) == (.network, "var a = 11", true))
      #expect(try await fixture.store.bundle(at: try fixture.url("/b/a.js"))?.blob?.md5 == page.md5)
    }
  }
}
