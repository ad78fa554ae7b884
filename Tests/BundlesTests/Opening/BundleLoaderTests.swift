import Bundles
import HTTPTransport
import PageTesting
import TestSupport
import Testing

struct BundleLoaderTests {
  private static let scripts = ["a": "var a = 1", "b": "var b = 2"]

  private static func text(_ bundle: LoadedBundle) -> String { String(decoding: bundle.bytes, as: UTF8.self) }

  @Test func aPageThatIsStoredOpensFromTheStoreOnceTheServerHasSaidTheSame() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      let before = fixture.origin.requests.count
      let loader = try fixture.loader(try fixture.verifier())
      let url = try fixture.url("/b/a.js")
      let first = try await loader.load(url)
      #expect((first.source, first.isVerified, Self.text(first), first.url) == (.store, true, "var a = 1", url))
      #expect(try await loader.load(url).source == .memory)
      _ = try await loader.load(try fixture.url("/b/b.js"))
      #expect(fixture.origin.requests.count == before + 1)
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

  @Test func whileAReleaseComesInAHostMayHoldOnToTheOldOne() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      try fixture.publish(["a": "var a = 11", "b": "var b = 2", "c": "var c = 3"], release: "r2")
      _ = try await fixture.preload(.init(only: ["a"]))
      let loader = try fixture.loader(try fixture.verifier(), consistency: .release)
      let old = try await loader.load(try fixture.url("/b/a.js"))
      #expect((old.source, Self.text(old), old.isVerified) == (.store, "var a = 1", false))
      #expect(old.note?.contains("release r2 is still coming in") == true)
      // The same in both, and only in the new one.
      #expect(try await loader.load(try fixture.url("/b/b.js")).isVerified)
      #expect(Self.text(try await loader.load(try fixture.url("/b/c.js"))) == "var c = 3")

      #expect(try await fixture.preload().activated)
      let new = try await fixture.loader(try fixture.verifier(), consistency: .release).load(try fixture.url("/b/a.js"))
      #expect((Self.text(new), new.isVerified) == ("var a = 11", true))
    }
  }

  @Test func whereTheNewBytesCannotBeHadTheOldOnesRunAndItIsSaid() async throws {
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

  @Test func withTheServerAwayStoredPagesOpen() async throws {
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

  @Test func aServerThatIsSlowToSayItsMD5sIsNotWaitedForLong() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      fixture.origin.hold("/manifest.json")
      let loader = try fixture.loader(try fixture.verifier(), policy: .networkFirst(deadline: .milliseconds(50)))
      let page = try await loader.load(try fixture.url("/b/a.js"))
      // The deadline's reading and the opening's own may both have been due: the second comes from memory.
      #expect([.store, .memory].contains(page.source))
      #expect(!page.isVerified)
      #expect(page.note?.contains("not known after 0.05 s") == true)
      fixture.origin.release("/manifest.json")
    }
  }

  @Test func offlineTheNetworkIsLeftAlone() async throws {
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

  @Test func aByteThatChangedInTheStoreIsCaughtAndMended() async throws {
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
      #expect(try await loader.load(url).source != .network)
      try await fixture.origin.refuseConnections()
      try Files.flipFirstByte(fixture.folder.file("store/blobs/\(hex.prefix(2))/\(hex)"))
      let offline = try fixture.loader(nil)
      // Those bytes are in memory, checked; another process would not have them.
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

  @Test func aBundleOutsideTheManifestIsCheckedAgainstWhatAHeadTells() async throws {
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

  @Test("of a server that tells no MD5 the bytes are fetched once per launch, and shown the next time without asking")
  func aServerThatTellsNoMD5IsAskedForItsBytes() async throws {
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
      // What cannot be had is no worse than what is stored.
      await loader.relaunch()
      fixture.origin.always("/loose.js", .status(500))
      #expect(Self.text(try await loader.load(url)) == "var loose = 2")
    }
  }

  @Test func anETagThatIsNoMD5RejectsNothing() async throws {
    try await LoadingFixture.running { fixture in
      fixture.origin.serve("/loose.js", Array("var loose = 1".utf8), etag: "\"\(String(repeating: "0", count: 32))\"")
      let page = try await fixture.loader(nil).load(try fixture.url("/loose.js"))
      #expect(Self.text(page) == "var loose = 1")
    }
  }

  @Test func aManifestCalledUnchangedThatTheBytesContradictIsFetchedAgain() async throws {
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
