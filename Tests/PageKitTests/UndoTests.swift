import PageKit
import PageTesting
import TestSupport
import Testing

/// Releases whose pages fail, and what the user of an app sees of them.
struct UndoTests {
  /// A statement after which a page makes no elements.
  private static let noElements = """
    var none = { appendChild: function () {} }
    weex = {
      config: weex.config, requireModule: weex.requireModule, document: {
        createBody: function () { return none }, createElement: function () { return none }, documentElement: none } }
    """
  /// Statements that make a page fail, and the kinds of the failures.
  private static let failures: [(statement: String, kind: TrialFailure.Kind)] = [
    ("throw new Error('out of order')", .exception),
    ("unknownFunction()", .exception),
    ("d = 1; throw 'a text'", .exception),
    ("while (true) {}", .timeLimit),
    (noElements, .emptyPage),
  ]

  /// A host whose store has the good release `first`.
  private static func withGoodRelease(
    _ change: @escaping @Sendable (inout HostConfiguration) -> Void = { _ in },
    _ body: @Sendable (PageSite, PageHost) async throws -> Void
  ) async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let host = try site.host { configuration in
        configuration.pages.scripts.limits.time = .milliseconds(300)
        change(&configuration)
      }
      _ = await host.preload().report()
      let page = try await host.open(site.origin.url(for: "/b/one.js"))
      await page.markReady()
      await page.destroy()
      #expect(try await Self.standings(host) == ["first": .good])
      try await body(site, host)
      await host.shutDown()
    }
  }

  private static func standings(_ host: PageHost) async throws -> [String: ReleaseStanding] {
    let source = try #require(host.configuration.manifest)
    return Dictionary(
      try await host.store.releases(of: source).map { ($0.release.name, $0.release.standing) },
      uniquingKeysWith: { first, _ in first })
  }

  private static func update(_ site: PageSite, _ host: PageHost, _ word: String, failing: String) async throws {
    try site.publish(word, failing: failing)
    try await host.refresh()
    _ = await host.preload().report()
  }

  @Test("the opening of a page that fails goes on with the good release", arguments: failures.indices)
  func goesOn(_ index: Int) async throws {
    let (statement, kind) = Self.failures[index]
    try await Self.withGoodRelease { (site: PageSite, host: PageHost) async throws in
      try await Self.update(site, host, "second", failing: statement)
      #expect(try await host.store.source(#require(host.configuration.manifest))?.current?.name == "second")
      let page = try await host.open(site.origin.url(for: "/b/one.js"))
      #expect(await page.phase == .live)
      #expect(await page.tree.outline.contains("first one.js"))
      #expect(await page.view?.release.name == "first")
      #expect(await page.bundle?.isVerified == false)
      await page.destroy()
      var replaced: [TrialFailure] = []
      for await event in page.events {
        switch event {
        case .replaced(let failure, let release):
          replaced.append(failure)
          #expect(release == "first")
        case .failed(let error): Issue.record("the page said that it failed: \(error)")
        default: break
        }
      }
      #expect(replaced.map(\.kind) == [kind])
      // The page's files come from the good release, too.
      #expect(try await site.shown("one", host) == "first one.js with its picture")
      #expect(try await Self.standings(host)["second"] == .bad)
    }
  }

  @Test("a release that failed twice is not fetched, asked for or opened, also after a restart")
  func undone() async throws {
    try await Self.withGoodRelease { (site: PageSite, host: PageHost) async throws in
      try await Self.update(site, host, "second", failing: "throw 1")
      var news = host.news.makeAsyncIterator()
      for _ in 0..<2 { #expect(try await site.shown("one", host) == "first one.js with its picture") }
      guard case .undone(let bad, let current)? = await news.next() else { return #expect(Bool(false), "no news") }
      #expect((bad.name, bad.failures, current.name) == ("second", 2, "first"))
      // Its second page works, and is not opened either.
      #expect(try await site.shown("two", host) == "first two.js with its picture")
      for host in [host, try site.host()] {
        let before = site.origin.requests.count
        let report = await host.preload().report()
        #expect(report.bad?.contains("release second failed 2 times on this device") == true)
        #expect((report.downloaded, report.activated, report.failures.count) == (0, false, 0))
        #expect(try await site.shown("one", host) == "first one.js with its picture")
        // Nothing but the manifest, once per launch.
        #expect(site.origin.requests.count - before <= 1)
      }
    }
  }

  @Test("a release that is mended is tried, and one that was good is not undone")
  func mended() async throws {
    try await Self.withGoodRelease { (site: PageSite, host: PageHost) async throws in
      try await Self.update(site, host, "second", failing: "throw 1")
      for _ in 0..<2 { _ = try await site.shown("one", host) }
      try await Self.update(site, host, "third", failing: "")
      let page = try await host.open(site.origin.url(for: "/b/one.js"))
      #expect(await page.tree.outline.contains("third"))
      await page.markReady()
      await page.destroy()
      #expect(try await Self.standings(host)["third"] == .good)
      try await Self.update(site, host, "fourth", failing: "")
      let other = try await host.open(site.origin.url(for: "/b/two.js"))
      await other.markReady()
      #expect(try await Self.standings(host)["fourth"] == .good)
      // What became good stays: stored data may have changed with it.
      try await Self.update(site, host, "fifth", failing: "throw 1")
      _ = try await site.shown("one", host)
      #expect(try await Self.standings(host)["fourth"] == .good)
    }
  }

  @Test("a page that runs for the trial's time makes its release good, also if it was closed")
  func passes() async throws {
    try await Self.withGoodRelease({ $0.releases.trial?.duration = .milliseconds(1) }) {
      (site: PageSite, host: PageHost) async throws in
      try await Self.update(site, host, "second", failing: "")
      let page = try await host.open(site.origin.url(for: "/b/one.js"))
      await page.destroy()
      await host.trials?.finishWaiting()
      #expect(try await Self.standings(host)["second"] == .good)
    }
  }

  @Test("a page that the app closes before it has a tree says nothing about its release")
  func closed() async throws {
    try await Self.withGoodRelease { (site: PageSite, host: PageHost) async throws in
      try await Self.update(site, host, "second", failing: "")
      for _ in 0..<5 {
        let page = await host.page()
        let opening = Task { try await page.renderByURL(site.origin.url(for: "/b/one.js")) }
        for await event in page.events {
          if case .phase(.evaluating) = event { break }
        }
        await page.destroy()
        _ = await opening.result
      }
      #expect(try await Self.standings(host)["second"] == .trial)
      #expect(try site.folder.names(in: "store/openings") == [])
    }
  }

  @Test("a readiness counts for the opening that it was said of")
  func readiness() async throws {
    try await Self.withGoodRelease { (site: PageSite, host: PageHost) async throws in
      let former = try await host.open(site.origin.url(for: "/b/one.js"))
      try await Self.update(site, host, "second", failing: "throw 1")
      let replaced = try await host.open(site.origin.url(for: "/b/one.js"))
      #expect(await replaced.view?.release.name == "first")
      // Neither page shows the release that is on trial.
      await former.markReady()
      await replaced.markReady()
      #expect(try await Self.standings(host)["second"] == .trial)
      _ = try await site.shown("one", host)
      #expect(try await Self.standings(host)["second"] == .bad)
    }
  }

  @Test("a page that only the bad release has cannot open, and the error says why")
  func newPage() async throws {
    try await Self.withGoodRelease { (site: PageSite, host: PageHost) async throws in
      try await Self.update(site, host, "second", failing: "throw 1")
      for _ in 0..<2 { _ = try await site.shown("one", host) }
      let source = try #require(host.configuration.manifest)
      let bad = try #require(try await host.store.source(source)?.incoming)
      #expect(bad.standing == .bad)
      // Offline, and whatever the policy is, the good release opens.
      for policy in [OpenPolicy.networkOnly, .cacheFirst, .cacheOnly, .staleWhileRevalidate, .networkFirst()] {
        let page = try await host.open(site.origin.url(for: "/b/one.js"), options: PageOptions(policy: policy))
        #expect(await page.tree.outline.contains("first one.js"), "\(policy)")
        try await page.reload()
        #expect(await page.tree.outline.contains("first one.js"), "\(policy)")
        await page.destroy()
      }
    }
  }

  @Test("without a good release, the error is the page's own")
  func nothingGood() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first", failing: "throw new Error('out of order')")
      let host = try site.host()
      for _ in 0..<3 {
        let error = await #expect(throws: PageError.self) { try await host.open(site.origin.url(for: "/b/one.js")) }
        #expect("\(try #require(error))".contains("out of order"))
      }
      #expect(try await site.shown("two", host) == "first two.js with its picture")
      await host.shutDown()
    }
  }

  @Test("a page that makes its elements later is waited for, and goes on with the good release if it never does")
  func emptyLater() async throws {
    try await Self.withGoodRelease { (site: PageSite, host: PageHost) async throws in
      try await Self.update(
        site, host, "second",
        failing: "weex.requireModule('timer').setTimeout(function () {}, 20); \(Self.noElements)")
      let page = try await host.open(site.origin.url(for: "/b/one.js"))
      for await event in page.events {
        if case .rendered = event { break }
      }
      #expect(await page.tree.outline.contains("first one.js"))
      await page.destroy()
    }
  }

  @Test("a host without trials takes each release as good")
  func withoutTrials() async throws {
    try await Self.withGoodRelease({ $0.releases.trial = nil }) { (site: PageSite, host: PageHost) async throws in
      try await Self.update(site, host, "second", failing: "throw 1")
      for _ in 0..<3 {
        await #expect(throws: PageError.self) { try await host.open(site.origin.url(for: "/b/one.js")) }
      }
      #expect(try await Self.standings(host)["second"] == .good)
    }
  }

  @Test("the release that is packaged with the app is the last resort")
  func packaged() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("packed")
      var configuration = try site.configuration()
      configuration.storage.directory = StoreDirectory(site.folder.file("packing"))
      let packing = try PageHost(configuration)
      _ = await packing.preload().report()
      let source = try #require(configuration.manifest)
      let release = try #require(try await packing.store.source(source)?.current)
      let path = site.folder.file("pages.sqlar")
      _ = try await ReleaseArchive.write(release, of: packing.store, to: path)
      await packing.shutDown()
      try site.publish("second", sequence: 2, failing: "throw 1")
      let host = try site.host { $0.releases.embedded = path }
      for _ in 0..<3 { #expect(try await site.shown("one", host) == "packed one.js with its picture") }
      #expect(try await Self.standings(host) == ["packed": .good, "second": .bad])
      await host.shutDown()
    }
  }
}
