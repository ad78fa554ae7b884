import Foundation
import HTTPTransport
import PageTesting
import Releases
import Testing

@testable import Bundles

/// Releases that the status holds back, and from which it goes back.
struct StatusDirectiveTests {
  private static let old = ["a": "var a = 1", "b": "var b = 1"]
  private static let new = ["a": "var a = 2", "b": "var b = 2"]

  private static let policies: [OpenPolicy] = [
    .networkFirst(deadline: .seconds(60)), .networkOnly, .cacheFirst, .cacheOnly, .staleWhileRevalidate,
  ]

  /// A source with one release, which a host has stored.
  private static func installed(_ body: (SignedSource, ReleaseStatus.Manifest) async throws -> Void) async throws {
    try await SignedSource.running(online: [5]) { site in
      try site.publish(old)
      try site.publish(site.status(1))
      let report = try await site.host().preload()
      #expect(report.activated, "\(report.failures)")
      let digest = try SHA256Digest(of: site.served("/manifest.json"))
      try await body(site, .init(sequence: 1, sha256: digest))
    }
  }

  private static func status(
    _ sequence: Int64, _ site: SignedSource, _ change: (inout ReleaseStatus) -> Void = { _ in }
  ) throws {
    var status = try site.status(sequence)
    change(&status)
    try site.publish(status)
  }

  private static func shows(
    _ text: String, _ site: SignedSource, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    for policy in policies {
      let bundle = try await site.host().open("a", policy)
      #expect(String(decoding: bundle.bytes, as: UTF8.self) == text, "\(policy)", sourceLocation: sourceLocation)
    }
    site.origin.always("/manifest.json", .status(503))
    for policy in policies where policy != .networkOnly {
      let bundle = try await site.host().open("a", policy)
      #expect(String(decoding: bundle.bytes, as: UTF8.self) == text, "\(policy)", sourceLocation: sourceLocation)
    }
    site.origin.always("/manifest.json", .normal)
  }

  @Test("a host does not switch to a halted release, and does when it is no longer halted")
  func halted() async throws {
    try await Self.installed { site, _ in
      try site.publish(Self.new, sequence: 2)
      try Self.status(2, site) { $0.isHalted = true }
      for _ in 0..<2 {
        let report = try await site.host().preload()
        #expect(report.failures.isEmpty && !report.activated, "\(report.failures)")
        #expect(report.withheld == "r1")
        try await Self.shows("var a = 1", site)
      }
      try Self.status(3, site)
      let report = try await site.host().preload()
      #expect(report.activated && report.withheld == nil)
      try await Self.shows("var a = 2", site)
      #expect(site.origin.requestCount(path: "/b/a.js") == 2)
    }
  }

  @Test("a host that has switched to a release before it was halted stays with it")
  func haltedLater() async throws {
    try await Self.installed { site, _ in
      try site.publish(Self.new, sequence: 2)
      try Self.status(2, site)
      #expect(try await site.host().preload().activated)
      try Self.status(3, site) { $0.isHalted = true }
      #expect(try await site.host().preload().failures.isEmpty)
      try await Self.shows("var a = 2", site)
    }
  }

  @Test("going back to a release makes it good, also one that is bad on the device")
  func backToBad() async throws {
    try await Self.installed { (site: SignedSource, earlier: ReleaseStatus.Manifest) async throws in
      try site.publish(Self.new, sequence: 2)
      try Self.status(2, site)
      let store = try site.host().store
      let first = try #require(try await store.source(site.source)?.current)
      #expect(try await site.host().preload().activated)
      let second = try #require(try await store.source(site.source)?.current)
      try await store.mark(second, as: .good)
      try await store.mark(first, as: .bad)
      try Self.status(3, site) { $0.rollbackTo = earlier }
      #expect(try await site.host().preload().failures.isEmpty)
      let current = try #require(try await store.source(site.source)?.current)
      #expect((current.id, current.standing) == (first.id, .good))
      #expect(try await store.badReleases(of: site.source) == [])
      try await Self.shows("var a = 1", site)
    }
  }

  @Test("a host without any release takes a halted one: it has nothing else")
  func firstRelease() async throws {
    try await SignedSource.running(online: [5]) { site in
      try site.publish(Self.old)
      try Self.status(1, site) { $0.isHalted = true }
      #expect(try await site.host().preload().activated)
      try await Self.shows("var a = 1", site)
    }
  }

  @Test("a host goes back to the release that the status names, and on with the next one")
  func goingBack() async throws {
    try await Self.installed { site, earlier in
      try site.publish(Self.new, sequence: 2)
      try Self.status(2, site)
      #expect(try await site.host().preload().activated)
      try Self.status(3, site) { $0.rollbackTo = earlier }
      for _ in 0..<3 {
        let report = try await site.host().preload()
        #expect(report.failures.isEmpty && !report.activated, "\(report.failures)")
        #expect(try await site.host().store.source(site.source)?.current?.sequence == 1)
        try await Self.shows("var a = 1", site)
      }
      try site.publish(["a": "var a = 3"], sequence: 3)
      try Self.status(4, site)
      #expect(try await site.host().preload().activated)
      try await Self.shows("var a = 3", site)
    }
  }

  @Test("an opening that asks the server goes back at once")
  func goingBackAtOpening() async throws {
    try await Self.installed { site, earlier in
      try site.publish(Self.new, sequence: 2)
      try Self.status(2, site)
      #expect(try await site.host().preload().activated)
      try Self.status(3, site) { $0.rollbackTo = earlier }
      #expect(try await site.host().text("a") == "var a = 1")
    }
  }

  @Test("pages learn that a host has gone back")
  func news() async throws {
    try await Self.installed { site, earlier in
      try site.publish(Self.new, sequence: 2)
      try Self.status(2, site)
      #expect(try await site.host().preload().activated)
      try Self.status(3, site) { $0.rollbackTo = earlier }
      let (host, news) = (try site.host(), Broadcast<BundleNews>())
      var heard = news.listen().makeAsyncIterator()
      _ = await Preloader(store: host.store, verifier: host.verifier, downloader: host.downloader, news: news)
        .start().report()
      guard case .release(let release) = await heard.next() else {
        Issue.record("no news")
        return
      }
      #expect(release.sequence == 1)
    }
  }

  @Test("a host goes back to nothing that a release key has not signed")
  func unsignedTarget() async throws {
    try await SignedSource.running(online: [5]) { site in
      try site.publish(["a": "var hostile"], by: [])
      #expect(try await site.host(requiringSignatures: false).preload().activated)
      let digest = try SHA256Digest(of: site.served("/manifest.json"))
      try site.publish(Self.new, sequence: 2)
      try Self.status(1, site)
      #expect(try await site.host().preload().activated)
      try Self.status(2, site) { $0.rollbackTo = .init(sequence: 1, sha256: digest) }
      #expect(try await site.host().preload().failures.isEmpty)
      #expect(try await site.host().store.source(site.source)?.current?.sequence == 2)
      try await Self.shows("var a = 2", site)
    }
  }

  @Test("a release that a person holds stays")
  func held() async throws {
    try await Self.installed { site, earlier in
      try site.publish(Self.new, sequence: 2)
      try Self.status(2, site)
      #expect(try await site.host().preload().activated)
      let store = try site.host().store
      try await store.hold(try #require(try await store.source(site.source)?.current))
      try Self.status(3, site) { $0.rollbackTo = earlier }
      #expect(try await site.host().preload().failures.isEmpty)
      #expect(try await store.source(site.source)?.current?.sequence == 2)
    }
  }

  @Test("a host that passes releases on switches to each, so that those behind it decide")
  func relay() async throws {
    try await Self.installed { site, earlier in
      try site.publish(Self.new, sequence: 2)
      try Self.status(2, site) { ($0.isHalted, $0.rollbackTo) = (true, earlier) }
      let relay = try site.host(keeping: true, actingOnStatus: false)
      #expect(await relay.preload().activated)
      #expect(try await relay.text("a") == "var a = 2")
    }
  }
}
