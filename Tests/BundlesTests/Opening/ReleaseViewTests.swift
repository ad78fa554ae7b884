import PageTesting
import TestSupport
import Testing

@testable import Bundles
@testable import HTTPCache
@testable import HTTPTransport

/// A page sees one release, from its opening to its end.
struct ReleaseViewTests {
  private static func text(_ bundle: LoadedBundle) -> String { String(decoding: bundle.bytes, as: UTF8.self) }

  /// The text that a page of this release gets from a file's URL.
  private static func file(
    _ path: String, _ view: ReleaseView?, _ loader: ResourceLoader, _ fixture: LoadingFixture,
    behavior: LoadBehavior = .automatic
  ) async throws -> String {
    var request = ResourceRequest(try fixture.url(path).text, behavior: behavior)
    request.snapshot = view
    return String(decoding: try await loader.response(for: request).body.collect(), as: UTF8.self)
  }

  private static func publish(_ release: String, _ fixture: LoadingFixture) throws {
    try fixture.publish(
      ["weather": "var release = '\(release)'"], files: ["data.json": "\"\(release)\"", "same.json": "0"],
      release: release)
  }

  @Test("a page opened during a preload gets the files of its script's release")
  func filesDuringPreload() async throws {
    try await LoadingFixture.running { fixture in
      try Self.publish("one", fixture)
      _ = try await fixture.preload()
      try Self.publish("two", fixture)
      let verifier = try fixture.verifier()
      let page = try await fixture.loader(verifier).load(try fixture.url("/b/weather.js"))
      let resources = try fixture.resources(verifier)
      #expect(Self.text(page) == "var release = 'two'")
      #expect(try await Self.file("/b/data.json", page.view, resources, fixture) == "\"two\"")
      // For every behaviour of the cache.
      #expect(try await Self.file("/b/data.json", page.view, resources, fixture, behavior: .networkOnly) == "\"two\"")
      #expect(fixture.origin.requestCount(path: "/b/data.json") == 2)
    }
  }

  @Test func aPageKeepsItsReleaseWhenANewerOneBecomesCurrent() async throws {
    try await LoadingFixture.running { fixture in
      try Self.publish("one", fixture)
      _ = try await fixture.preload()
      let verifier = try fixture.verifier()
      let page = try await fixture.loader(verifier).load(try fixture.url("/b/weather.js"))
      let resources = try fixture.resources(verifier)
      for release in ["two", "three", "four"] {
        try Self.publish(release, fixture)
        #expect(try await fixture.preload().activated)
      }
      _ = try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false)
      #expect(try await Self.file("/b/data.json", page.view, resources, fixture) == "\"one\"")
      #expect(try await Self.file("/b/data.json", nil, resources, fixture) == "\"four\"")
    }
  }

  @Test("while a bundle of the new release is missing, the old script runs with the old data")
  func missingBundle() async throws {
    try await LoadingFixture.running { fixture in
      try Self.publish("one", fixture)
      _ = try await fixture.preload()
      try Self.publish("two", fixture)
      fixture.origin.always("/b/weather.js", .status(404))
      _ = try await fixture.preload()
      let verifier = try fixture.verifier()
      let page = try await fixture.loader(verifier).load(try fixture.url("/b/weather.js"))
      #expect((page.source, Self.text(page), page.view?.release.name) == (.stale, "var release = 'one'", "one"))
      let resources = try fixture.resources(verifier)
      #expect(try await Self.file("/b/data.json", page.view, resources, fixture) == "\"one\"")
    }
  }

  @Test("files of an incomplete release are available offline")
  func incompleteRelease() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(["a": "var a", "b": "var b"], files: ["data.json": "\"one\""])
      fixture.origin.always("/b/b.js", .status(404))
      #expect(try await !fixture.preload().activated)
      try await fixture.origin.refuseConnections()
      let verifier = try fixture.verifier()
      let page = try await fixture.loader(verifier).load(try fixture.url("/b/a.js"))
      #expect(page.view?.release.name == "r1")
      let resources = try fixture.resources(verifier)
      #expect(try await Self.file("/b/data.json", page.view, resources, fixture) == "\"one\"")
    }
  }

  @Test("offline the current release is shown until all files of the next one are stored")
  func offlineRelease() async throws {
    try await LoadingFixture.running { fixture in
      try Self.publish("one", fixture)
      _ = try await fixture.preload()
      try Self.publish("two", fixture)
      _ = try await fixture.preload(.init(only: ["weather"]))
      func offline() async throws -> String? {
        try await fixture.loader(try fixture.verifier()).load(
          try fixture.url("/b/weather.js"), options: .init(policy: .cacheOnly)
        ).view?.release.name
      }
      #expect(try await offline() == "one")
      _ = try await fixture.preload(.init(only: ["data.json", "same.json"]))
      #expect(try await offline() == "two")
    }
  }

  @Test("a file that the server no longer has fails with an error that names both releases", arguments: [true, false])
  func supersededFile(_ isNextReleaseKnown: Bool) async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(["a": "var a = 1"], files: ["data.json": "\"one\""], preload: ["data.json": .demand])
      _ = try await fixture.preload()
      let verifier = try fixture.verifier()
      let page = try await fixture.loader(verifier).load(try fixture.url("/b/a.js"))
      try fixture.publish(["a": "var a = 2"], files: ["data.json": "\"two\""], release: "r2")
      if isNextReleaseKnown { _ = try await fixture.preload() }
      let resources = try fixture.resources(verifier)
      await #expect {
        try await Self.file("/b/data.json", page.view, resources, fixture)
      } throws: { error in
        guard case .superseded(let entry, let release, let latest, _) = error as? ReleaseError else { return false }
        return (entry, release, latest) == ("data.json", "r1", "r2")
      }
      // The stored bytes of the other release never replace them.
      if isNextReleaseKnown {
        #expect(try await Self.file("/b/data.json", nil, resources, fixture) == "\"two\"")
      }
    }
  }

  @Test("bytes of an old release are fetched by their digest")
  func bytesByDigest() async throws {
    try await LoadingFixture.running { fixture in
      let bytes = Array("\"one\"".utf8)
      let digests = try ContentDigests(of: bytes)
      var manifest = try fixture.publish(["a": "var a = 1"], files: ["data.json": "\"one\""])
      manifest.files[0].sha256 = digests.sha256
      manifest.files[0].preload = .demand
      fixture.origin.serve("/manifest.json", try JSON.encode(manifest), etag: "\"with digests\"")
      _ = try await fixture.preload()
      let verifier = try fixture.verifier()
      let page = try await fixture.loader(verifier).load(try fixture.url("/b/a.js"))
      fixture.origin.serve("/b/data.json", Array("\"two\"".utf8))
      fixture.origin.serve("/blobs/\(digests.sha256.hex)", bytes)
      let resources = try fixture.resources(verifier)
      #expect(try await Self.file("/b/data.json", page.view, resources, fixture) == "\"one\"")
    }
  }

  @Test("with release consistency files also come from the old release")
  func releaseConsistency() async throws {
    try await LoadingFixture.running { fixture in
      try Self.publish("one", fixture)
      _ = try await fixture.preload()
      try Self.publish("two", fixture)
      let verifier = try fixture.verifier()
      let page = try await fixture.loader(verifier, consistency: .release).load(try fixture.url("/b/weather.js"))
      let resources = try fixture.resources(verifier)
      #expect((Self.text(page), page.view?.release.name) == ("var release = 'one'", "one"))
      #expect(try await Self.file("/b/data.json", page.view, resources, fixture) == "\"one\"")
    }
  }

  @Test func anEmbeddedPageIsOfTheReleaseAroundIt() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(["outer": "var o = 1", "inner": "var i = 1"], preload: ["inner": .demand])
      _ = try await fixture.preload()
      let verifier = try fixture.verifier()
      let loader = try fixture.loader(verifier)
      let outer = try await loader.load(try fixture.url("/b/outer.js"))
      let inner = try fixture.url("/b/inner.js")
      #expect(Self.text(try await loader.load(inner, options: .init(view: outer.view))) == "var i = 1")
      try fixture.publish(["outer": "var o = 2", "inner": "var i = 2"], release: "r2")
      #expect(try await fixture.preload().activated)
      await verifier.relaunch()
      #expect(Self.text(try await loader.load(inner)) == "var i = 2")
      #expect(Self.text(try await loader.load(inner, options: .init(view: outer.view))) == "var i = 1")
    }
  }

  @Test("an embedded page that its release cannot provide fails and shows no other release")
  func missingEmbeddedPage() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(["outer": "var o = 1", "inner": "var i = 1"], preload: ["inner": .demand])
      _ = try await fixture.preload()
      let verifier = try fixture.verifier()
      let loader = try fixture.loader(verifier)
      let outer = try await loader.load(try fixture.url("/b/outer.js"))
      try fixture.publish(["outer": "var o = 2", "inner": "var i = 2"], release: "r2")
      #expect(try await fixture.preload().activated)
      await #expect(throws: ReleaseError.self) {
        try await loader.load(try fixture.url("/b/inner.js"), options: .init(view: outer.view))
      }
    }
  }

  // MARK: Random order

  /// Releases are published, downloaded, interrupted and collected, and the app restarts, in random order; pages open
  /// in between and stay open. No page ever gets the bytes of two releases.
  @Test(arguments: 1...UInt64(12))
  func noPageEverSeesTwoReleases(_ seed: UInt64) async throws {
    try await LoadingFixture.running { fixture in
      var random = SeededGenerator(seed: seed)
      var world = try World(fixture)
      try world.publish(&random)
      for _ in 1...40 { try await world.step(&random) }
      #expect(world.opened > 0)
    }
  }

  private struct World {
    let fixture: LoadingFixture
    var published: [String: [String: String]] = [:]
    var latest: [String: String] = [:]
    var verifier: LaunchVerifier
    var loader: BundleLoader
    var resources: ResourceLoader
    var pages: [LoadedBundle] = []
    var opened = 0

    init(_ fixture: LoadingFixture) throws {
      self.fixture = fixture
      verifier = try fixture.verifier()
      loader = try fixture.loader(verifier)
      resources = try fixture.resources(verifier)
    }

    mutating func publish(_ random: inout SeededGenerator) throws {
      let release = "r\(published.count + 1)"
      for name in ["a", "b", "one.json", "two.json"] where latest[name] == nil || Bool.random(using: &random) {
        latest[name] = "// \(name) since \(release)"
      }
      published[release] = latest
      try fixture.publish(
        latest.filter { !$0.key.hasSuffix(".json") }, files: latest.filter { $0.key.hasSuffix(".json") },
        release: release, preload: ["b": .demand, "two.json": .demand])
    }

    mutating func step(_ random: inout SeededGenerator) async throws {
      switch Int.random(in: 0..<12, using: &random) {
      case 0, 1: try publish(&random)
      case 2: _ = try await fixture.preload()
      case 3:
        // The preload is interrupted at a random point.
        fixture.origin.script("/b/one.json", [.resetAfter(bytes: 3), .resetBeforeHead, .status(404)])
        _ = try await fixture.preload(attempts: 1)
        fixture.origin.script("/b/one.json", [])
      case 4: _ = try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false)
      case 5:
        // The process restarts, and its pages end.
        pages = []
        let opened = opened
        self = try World(continuing: self)
        self.opened = opened
      case 6: await verifier.relaunch()
      case 7 where !pages.isEmpty: pages.removeFirst()
      case 8, 9:
        let name = Bool.random(using: &random) ? "a" : "b"
        guard let page = try? await loader.load(try fixture.url("/b/\(name).js")) else { break }
        let release = try #require(page.view?.release.name)
        #expect(ReleaseViewTests.text(page) == published[release]?[name])
        pages.append(page)
        opened += 1
      default:
        guard let page = pages.randomElement(using: &random), let release = page.view?.release.name else { break }
        for name in ["one.json", "two.json"] {
          guard let text = try? await ReleaseViewTests.file("/b/\(name)", page.view, resources, fixture) else {
            continue
          }
          #expect(text == published[release]?[name], "\(name) in \(release)")
        }
      }
    }

    private init(continuing other: World) throws {
      try self.init(other.fixture)
      (published, latest) = (other.published, other.latest)
    }
  }
}

extension LoadingFixture {
  /// The loader for the pages' requests.
  func resources(_ verifier: LaunchVerifier?) throws -> ResourceLoader {
    ResourceLoader(
      cache: try ResponseCache(store: NoResponseStore()), transport: transport, coding: ContentDecoder(),
      files: ReleaseFiles(store, downloader: try downloader(), verifier: verifier).read)
  }
}
