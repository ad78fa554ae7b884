import HTTPTypes
import PageTesting
import TestSupport
import Testing

@testable import Bundles
@testable import HTTPTransport

/// Policies of openings, and their deadlines.
struct OpenPolicyTests {
  private static let old = "var a = 'old'"
  private static let new = "var a = 'new'"

  private static func text(_ bundle: LoadedBundle) -> String { String(decoding: bundle.bytes, as: UTF8.self) }

  /// A server that has newer bytes than the store.
  private static func running(_ body: (LoadingFixture, PageURL) async throws -> Void) async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(["a": old])
      _ = try await fixture.preload()
      try fixture.publish(["a": new], release: "r2")
      try await body(fixture, try fixture.url("/b/a.js"))
    }
  }

  @Test("cacheFirst sends no request if the page is stored")
  func cacheFirstStored() async throws {
    try await Self.running { fixture, url in
      let before = fixture.origin.requests.count
      let page = try await fixture.loader(try fixture.verifier(), policy: .cacheFirst).load(url)
      #expect((Self.text(page), page.isVerified) == (Self.old, false))
      #expect(fixture.origin.requests.count == before)
    }
  }

  @Test("cacheFirst asks the server if the page is not stored")
  func cacheFirstNotStored() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(["a": Self.new])
      let loader = try fixture.loader(try fixture.verifier(), policy: .cacheFirst)
      #expect(try await loader.load(try fixture.url("/b/a.js")).source == .network)
    }
  }

  @Test("staleWhileRevalidate shows stored bytes and fetches new ones for the next opening")
  func staleWhileRevalidate() async throws {
    try await Self.running { fixture, url in
      let loader = try fixture.loader(try fixture.verifier(), policy: .staleWhileRevalidate)
      var news = loader.news.makeAsyncIterator()
      #expect(Self.text(try await loader.load(url)) == Self.old)
      let md5 = try ContentDigests(of: Array(Self.new.utf8)).md5
      #expect(await news.next() == .bundle(url, md5: md5, release: "r2"))
      await loader.finishBackgroundWork()
      #expect(Self.text(try await loader.load(url)) == Self.new)
    }
  }

  @Test func networkOnlyRunsStoredBytesOnlyIfTheServerConfirmsThem() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(["a": Self.old])
      _ = try await fixture.preload()
      let url = try fixture.url("/b/a.js")
      #expect(try await fixture.loader(try fixture.verifier(), policy: .networkOnly).load(url).isVerified)
      #expect(fixture.origin.requestCount(path: "/b/a.js") == 1)
      try await fixture.origin.refuseConnections()
      await #expect(throws: BundleError.self) {
        try await fixture.loader(try fixture.verifier(), policy: .networkOnly).load(url)
      }
    }
  }

  @Test("the first matching rule applies, unless the opening has a policy of its own")
  func rules() async throws {
    try await Self.running { fixture, url in
      let loader = try fixture.loader(try fixture.verifier()) { configuration in
        configuration.rules = [
          OpenRule(.glob("/b/a*"), .cacheOnly), OpenRule(.any, .networkOnly),
        ]
      }
      #expect(Self.text(try await loader.load(url)) == Self.old)
      #expect(
        Self.text(try await loader.load(url, options: .init(policy: .networkFirst(deadline: .seconds(60))))) == Self.new
      )
    }
  }

  @Test(
    "the deadline covers the whole opening; without stored bytes only silence ends it",
    arguments: [
      (true, nil, 2.0), (true, 1.5, 2.0), (false, nil, 15), (false, 9.0, 24.0),
    ] as [(Bool, Double?, Double)])
  func deadline(
    _ canShow: Bool, _ progress: Double?, _ expiry: Double
  ) {
    let deadline = OpeningDeadline(began: .seconds(0), total: .seconds(2), idle: .seconds(15))
    #expect(
      deadline.expiry(canShow: canShow, progress: progress.map { .seconds($0) }) == .seconds(expiry))
  }

  // MARK: Deadlines

  /// A fault of the server, and the requests that it affects.
  enum Trouble: String, CaseIterable, CustomTestStringConvertible {
    case none, hangingManifest, hangingBundle, stalling, dripping, refused, blackHole, unknownHost

    var testDescription: String { rawValue }
  }

  /// The result for the user, and the longest time until it.
  private static let waits: [(Trouble, stored: (String, seconds: Double), nothingStored: (String?, seconds: Double))] =
    [
      (.none, (new, 0), (new, 0)),
      (.hangingManifest, (old, 2), (new, 2)),
      (.hangingBundle, (old, 2), (nil, 15)),
      (.stalling, (old, 2), (nil, 15)),
      (.dripping, (old, 2), (new, 0)),
      (.refused, (old, 2), (nil, 15)),
      (.blackHole, (old, 2), (nil, 15)),
      (.unknownHost, (old, 2), (nil, 15)),
    ]

  @Test(.timeLimit(.minutes(5)), arguments: Trouble.allCases, [true, false])
  func everyOpeningEndsInTime(_ trouble: Trouble, _ isStored: Bool) async throws {
    let row = try #require(Self.waits.first { $0.0 == trouble })
    let (expected, limit) = isStored ? (row.stored.0 as String?, row.stored.seconds) : row.nothingStored
    try await LoadingFixture.running { fixture in
      try fixture.publish(["a": Self.old])
      if isStored { _ = try await fixture.preload() }
      try fixture.publish(["a": Self.new], release: "r2")
      try await Self.set(trouble, at: fixture.origin)
      let clock = ManualClock()
      let loader = try fixture.timedLoader(clock, trouble.transport)
      let url = try fixture.url("/b/a.js")
      let asked = trouble.path.map { ($0, fixture.origin.requestCount(path: $0)) }
      let opening = Task { try await loader.load(url) }
      // The requests before the fault take no time on the clock.
      if let (path, count) = asked { try await fixture.origin.waitForRequests(count + 1, to: path) }
      if trouble == .stalling {
        try await eventually("the head of the bundle comes") {
          loader.downloader.client.activity.last(url) != nil
        }
      }
      // Once the clock stands at the limit, the opening ends.
      while clock.now.offset < .seconds(limit) {
        try await clock.waitForSleepers()
        clock.advance(by: .milliseconds(250))
      }
      let result = await withTaskCancellationHandler {
        await opening.result
      } onCancel: {
        opening.cancel()
      }
      #expect((try? result.get()).map(Self.text) == expected, "\(result)")
      fixture.origin.always("/b/a.js", .normal)
      fixture.origin.always("/manifest.json", .normal)
    }
  }

  private static func set(_ trouble: Trouble, at origin: FaultOrigin) async throws {
    switch trouble {
    case .none, .blackHole, .unknownHost: break
    case .hangingManifest: origin.always("/manifest.json", .stallBeforeHead)
    case .hangingBundle: origin.always("/b/a.js", .stallBeforeHead)
    case .stalling: origin.always("/b/a.js", .stall(afterBytes: 0))
    case .dripping: origin.always("/b/a.js", .drip(bytesPerSecond: 20))
    case .refused: try await origin.refuseConnections()
    }
  }

  @Test(
    "without anything stored the manifest is waited for as long as the server sends something",
    arguments: [false, true])
  func waitingForTheManifest(_ isDripping: Bool) async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(["a": Self.new])
      fixture.origin.script(
        "/manifest.json", [isDripping ? .drip(bytesPerSecond: 400) : .stallBeforeHead])
      let clock = ManualClock()
      let loader = try fixture.timedLoader(clock, nil)
      let activity = loader.downloader.client.activity
      let waiting = Task { try await loader.verified(policy: .networkFirst(), canShow: false) }
      if isDripping {
        let source = try fixture.source
        try await eventually("the manifest begins to come") { activity.last(source) != nil }
      }
      if isDripping {
        // At three quarters of the limit bytes arrive, so that the wait does not end at the limit.
        clock.advance(by: .seconds(11))
        let release = try #require(try await waiting.value?.release)
        #expect(try await fixture.store.bundle(at: try fixture.url("/b/a.js"), in: release) != nil)
      } else {
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(15))
        let error = await #expect(throws: SourceError.self) { try await waiting.value }
        #expect(error?.description.contains("the server has sent nothing for 15 s") == true)
      }
      fixture.origin.always("/manifest.json", .normal)
    }
  }

  @Test("the time that a caller has waited counts towards the deadline, and is included in the note")
  func timeWaitedByTheCaller() async throws {
    try await Self.running { fixture, url in
      fixture.origin.always("/manifest.json", .stallBeforeHead)
      let clock = ManualClock()
      let loader = try fixture.timedLoader(clock, nil)
      var options = OpenOptions()
      options.timeWaited = .milliseconds(1_900)
      let opening = Task { [options] in try await loader.load(url, options: options) }
      try await clock.waitForSleepers()
      clock.advance(by: .milliseconds(100))
      let page = try await opening.value
      #expect((Self.text(page), page.note) == (Self.old, "the server's MD5s were not known after 2 s"))
      fixture.origin.always("/manifest.json", .normal)
    }
  }

  @Test("a download that ends after the deadline is used by the next opening")
  func lateDownload() async throws {
    try await Self.running { fixture, url in
      fixture.origin.hold("/b/a.js")
      let clock = ManualClock()
      let loader = try fixture.timedLoader(clock, nil)
      var news = loader.news.makeAsyncIterator()
      let opening = Task { try await loader.load(url) }
      try await fixture.origin.waitForRequests(2, to: "/b/a.js")
      try await clock.waitForSleepers()
      clock.advance(by: .seconds(2))
      let page = try await opening.value
      #expect((Self.text(page), page.source) == (Self.old, .stale))
      #expect(page.note?.contains("the download goes on") == true)
      fixture.origin.release("/b/a.js")
      #expect(await news.next() == .bundle(url, md5: try ContentDigests(of: Array(Self.new.utf8)).md5, release: "r2"))
      let next = try await loader.load(url)
      #expect((Self.text(next), next.isVerified, next.source != .network) == (Self.new, true, true))
    }
  }

  @Test func aDamagedStoredPageIsNotShownAtTheDeadline() async throws {
    try await Self.running { fixture, url in
      let blob = try #require(try await fixture.store.bundle(at: url)?.blob)
      let hex = blob.sha256.hex
      try Files.flipFirstByte(fixture.folder.file("store/blobs/\(hex.prefix(2))/\(hex)"))
      fixture.origin.hold("/b/a.js")
      let clock = ManualClock()
      let loader = try fixture.timedLoader(clock, nil)
      let opening = Task { try await loader.load(url) }
      try await fixture.origin.waitForRequests(2, to: "/b/a.js")
      try await clock.waitForSleepers()
      clock.advance(by: .seconds(3))
      fixture.origin.release("/b/a.js")
      #expect(Self.text(try await opening.value) == Self.new)
    }
  }
}

extension OpenPolicyTests.Trouble {
  /// The request that the server does not answer at once.
  fileprivate var path: String? {
    switch self {
    case .hangingManifest: "/manifest.json"
    case .hangingBundle, .stalling, .dripping: "/b/a.js"
    case .none, .refused, .blackHole, .unknownHost: nil
    }
  }

  /// Replaces a network fault that loopback cannot produce.
  fileprivate var transport: (any HTTPTransporting)? {
    switch self {
    case .blackHole: SilentTransport()
    case .unknownHost: NamelessTransport()
    default: nil
    }
  }
}

/// Sends requests that never get a response.
private struct SilentTransport: HTTPTransporting {
  func send(_ request: TransportRequest) async throws -> TransportResponse {
    try await Task.sleep(for: .seconds(86_400))
    throw CancellationError()
  }
}

private struct NamelessTransport: HTTPTransporting {
  func send(_ request: TransportRequest) async throws -> TransportResponse {
    throw TransportError.cannotResolve(url: request.url, reason: "no such host")
  }
}

extension LoadingFixture {
  /// A loader whose waits, also between attempts, use this clock.
  func timedLoader(_ clock: ManualClock, _ other: (any HTTPTransporting)?) throws -> BundleLoader {
    let time = TimeSource(clock)
    let client = OriginClient(other ?? transport, time: time)
    let verifier = LaunchVerifier(
      source: try source, store: store, client: client, sleep: time.sleep)
    let fetcher = BundleFetcher(client: client, store: store, sleep: time.sleep)
    return BundleLoader(
      store: store, verifier: verifier, downloader: BundleDownloader(store: store, fetcher: fetcher),
      verification: .perLaunch, configuration: .init(), news: Broadcast(), time: time)
  }
}
