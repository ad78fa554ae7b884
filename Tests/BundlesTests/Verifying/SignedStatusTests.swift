import Foundation
import HTTPTransport
import HTTPTypes
import PageTesting
import Releases
import Testing

@testable import Bundles

/// The status that an online key signs, and what a hostile server tries with it.
struct SignedStatusTests {
  private static let scripts = ["a": "var a = 1", "b": "var b = 1"]

  /// Expects that the host refuses what the server has now with this error, and goes on with the release before.
  private static func refuses(
    _ error: TrustError, _ site: SignedSource, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let found = await #expect(throws: SourceError.self, sourceLocation: sourceLocation) {
      try await site.host().verifier.verified()
    }
    guard case .untrusted(_, let reason) = found else {
      Issue.record("\(found.map { "\($0)" } ?? "nothing")", sourceLocation: sourceLocation)
      return
    }
    #expect(reason == error, sourceLocation: sourceLocation)
  }

  /// A source whose root has the role, with a release and its first status, which a host has stored.
  private static func installed(
    freshFor: Duration? = nil, online: [Int] = [5], threshold: Int = 1,
    _ body: (SignedSource) async throws -> Void
  ) async throws {
    try await SignedSource.running(freshFor: freshFor, online: online, threshold: threshold) { site in
      try site.publish(scripts)
      try site.publish(site.status(1), by: online)
      let report = try await site.host().preload()
      #expect(report.failures.isEmpty && report.activated, "\(report.failures)")
      try await body(site)
      // Whatever was refused, what is installed goes on.
      #expect(try await site.host().text("a") == "var a = 1")
    }
  }

  private static func statusRequests(_ site: SignedSource) -> [String] {
    site.origin.requests.map(\.path).filter { $0.hasPrefix("/status.json") }
  }

  // MARK: Without attacks

  @Test("an install that a rollout leaves out checks the status of the manifest that names its release")
  func rollout() async throws {
    try await Self.installed { (site: SignedSource) async throws in
      let former = site.served("/manifest.json")
      try site.publish(former, at: "/old.json")
      var manifest = try site.manifest(["a": "var a = 2"], sequence: 2)
      manifest.rollout = Rollout(percent: 0, salt: "")
      manifest.otherwise = ManifestReference(url: "old.json", sha256: try SHA256Digest(of: former))
      try site.publish(manifest)
      try site.publish(site.status(2))
      let before = site.origin.requestCount(path: "/manifest.json")
      for launch in 1...3 {
        let report = try await site.host().preload()
        #expect(report.failures.isEmpty && report.release == "r1", "\(report.failures)")
        // An unchanged manifest is asked for once.
        #expect(site.origin.requestCount(path: "/manifest.json") - before == launch)
      }
      try site.publish(site.status(3, disabled: ["b": "Later."]))
      #expect(try await site.host().preload().failures.isEmpty)
      await #expect(throws: BundleError.self) { try await site.host().open("b") }
    }
  }

  @Test("a host whose root has no role online asks for no status", arguments: [false, true])
  func noRole(_ keeping: Bool) async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      try site.publish(site.status(1, disabled: ["a": "Later."]), by: [3])
      for _ in 0..<2 {
        #expect(try await site.host(keeping: keeping).preload().failures.isEmpty)
        #expect(try await site.host(keeping: keeping).text("a") == "var a = 1")
      }
      #expect(Self.statusRequests(site).isEmpty)
    }
  }

  @Test("a status is fetched once per launch, and only if it has changed")
  func requests() async throws {
    try await Self.installed { site in
      #expect(Self.statusRequests(site) == ["/status.json", "/status.json.sig"])
      let host = try site.host()
      #expect(try await host.verifier.verified().isUnchanged)
      _ = try await host.verifier.verified()
      #expect(Self.statusRequests(site) == ["/status.json", "/status.json.sig", "/status.json"])
      #expect(site.origin.requests.last { $0.path == "/status.json" }?.headers[.ifNoneMatch] != nil)
      try site.publish(site.status(2))
      #expect(try await site.host().verifier.verified().isUnchanged)
      #expect(Self.statusRequests(site).count == 5)
      #expect(try await site.host().store.trustRecord(of: site.source).statusSequence == 2)
    }
  }

  @Test("a status may be signed by the release key too")
  func releaseKey() async throws {
    try await Self.installed { site in
      try site.publish(site.status(2), by: [3])
      #expect(try await site.host().preload().failures.isEmpty)
      #expect(try await site.host().store.trustRecord(of: site.source).statusSequence == 2)
    }
  }

  @Test("a manifest that was signed long ago stays usable for as long as its status is fresh")
  func offlineKey() async throws {
    try await SignedSource.running(freshFor: .seconds(3600), online: [5]) { site in
      let manifest = try site.manifest(Self.scripts, sequence: 1, for: 100 * 86_400)
      for (name, text) in Self.scripts { site.serve(name, text) }
      try site.publish(manifest)
      for number: Int64 in 1...3 {
        try site.publish(site.status(number))
        let report = try await site.host().preload()
        #expect(report.failures.isEmpty, "\(report.failures)")
        site.advance(by: 10 * 86_400)
      }
      try site.publish(site.status(4))
      site.advance(by: 90 * 86_400)
      try site.publish(site.status(5))
      let end = try #require(manifest.expires)
      try await Self.refuses(.expired(at: end), site)
    }
  }

  @Test("a release that is being published is asked for again: its status may come a moment later")
  func publishing() async throws {
    try await Self.installed { site in
      let former = site.served("/status.json")
      try site.publish(["a": "var a = 1", "b": "var b = 2"], sequence: 2)
      try site.publish(site.status(2))
      site.origin.script("/status.json", [.replace(former)])
      let report = try await site.host().preload()
      #expect(report.activated, "\(report.failures)")
      #expect(try await site.host().text("b") == "var b = 2")
    }
  }

  @Test("the role may come with a later root, and go again with what was disabled")
  func laterRole() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      #expect(try await site.host().preload().activated)
      try site.publish(site.nextRoot(release: 3, online: [5]), by: [0, 1])
      try await Self.refuses(.noStatus, site)
      try site.publish(site.status(1, disabled: ["a": "Later."]))
      await #expect(throws: BundleError.self) { try await site.host().open("a") }
      var last = site.nextRoot(release: 3)
      last.version = 3
      try site.publish(last, by: [0, 1])
      #expect(try await site.host().text("a") == "var a = 1")
      #expect(try await site.host().store.disabled(of: site.source).isEmpty)
    }
  }

  /// Preloads with events of the release that is installed: the first with the status that a host has, the second with
  /// the sequence 7.
  ///
  /// - Parameter check: gets the host, and publishes what the second event announces.
  private static func listening(
    _ site: SignedSource, _ check: (SignedSource.Host, _ announce: () -> Void) async throws -> Void
  ) async throws {
    let isPublished = Monitor(false)
    site.origin.respond("/releases/events") { _ in
      func event(_ status: Int64) -> String {
        "event: status\nid: 1.\(status)\ndata: {\"release\":\"r1\",\"sequence\":1,\"status\":\(status)}\n\n"
      }
      let isSecond = isPublished.read { $0 }
      return OriginResponse(
        headers: [.contentType: "text/event-stream"], body: Array(event(isSecond ? 7 : 1).utf8))
    }
    let host = try site.host()
    let preload = Preloader(
      store: host.store, verifier: host.verifier, downloader: host.downloader,
      sleep: { try await Task.sleep(for: min($0, .milliseconds(5))) }
    ).start(PreloadSchedule(events: PageURL(site.origin.url(for: "/releases/events"))))
    try await site.origin.waitForRequests(2, to: "/manifest.json")
    try await site.origin.waitForRequests(3, to: "/releases/events")
    try await check(host) { isPublished.change { $0 = true } }
    preload.cancel()
    _ = await preload.report()
  }

  @Test("an event of another status has the server asked, and one of the known status does not")
  func event() async throws {
    try await Self.installed { site in
      try await Self.listening(site) { host, announce in
        #expect(site.origin.requestCount(path: "/manifest.json") == 2)
        try site.publish(site.status(7, disabled: ["b": "Back at noon."]))
        announce()
        try await eventually("the announced status") {
          try await host.store.trustRecord(of: site.source).statusSequence == 7
        }
        await Self.isDisabled(host)
      }
    }
  }

  @Test("a host whose root has no role online does not ask the server for an announced status")
  func eventWithoutRole() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      #expect(try await site.host().preload().activated)
      try await Self.listening(site) { _, announce in
        announce()
        let seen = site.origin.requestCount(path: "/releases/events")
        try await site.origin.waitForRequests(seen + 3, to: "/releases/events")
        #expect(site.origin.requestCount(path: "/manifest.json") == 2)
      }
      #expect(Self.statusRequests(site).isEmpty)
    }
  }

  // MARK: Attacks

  @Test("arbitrary installation: a status that nobody has signed, or other keys have", arguments: [[], [0, 1, 2]])
  func wrongKey(_ signers: [Int]) async throws {
    try await Self.installed { site in
      try site.publish(site.status(2), by: signers)
      try await Self.refuses(
        signers.isEmpty ? .unsigned(.status) : .wronglySigned(.status, valid: 0, threshold: 1), site)
    }
  }

  @Test("arbitrary installation: a status that the release key of another root has signed")
  func releaseKeyOfAnotherRoot() async throws {
    try await Self.installed { site in
      try site.publish(site.status(2), by: [4])
      try await Self.refuses(.wronglySigned(.status, valid: 0, threshold: 1), site)
    }
  }

  @Test("arbitrary installation: a status that fewer online keys have signed than must")
  func threshold() async throws {
    try await Self.installed(online: [4, 5], threshold: 2) { site in
      try site.publish(site.status(2), by: [5])
      try await Self.refuses(.wronglySigned(.status, valid: 1, threshold: 2), site)
    }
  }

  @Test("arbitrary installation: a status that names a manifest which no release key has signed")
  func unsignedManifest() async throws {
    try await Self.installed { site in
      try site.publish(["a": "var hostile"], sequence: 2, by: [5])
      try site.publish(site.status(2))
      try await Self.refuses(.wronglySigned(.manifest, valid: 0, threshold: 1), site)
      site.serve("a", "var a = 1")
    }
  }

  @Test("rollback: an older status, which would enable a bundle again")
  func replay() async throws {
    try await Self.installed { site in
      let (former, signatures) = (site.served("/status.json"), site.served("/status.json.sig"))
      try site.publish(site.status(2, disabled: ["b": "Later."]))
      await #expect(throws: BundleError.self) { try await site.host().open("b") }
      site.origin.serve("/status.json", former)
      site.origin.serve("/status.json.sig", signatures)
      try await Self.refuses(.rollback(.status, known: 2, found: 1), site)
      await #expect(throws: BundleError.self) { try await site.host().open("b") }
    }
  }

  @Test("mix and match: two statuses with one sequence")
  func ambiguous() async throws {
    try await Self.installed { site in
      try site.publish(site.status(1, disabled: ["b": "Later."]))
      try await Self.refuses(.ambiguous(.status, sequence: 1), site)
    }
  }

  @Test("mix and match: the status of another manifest")
  func otherManifest() async throws {
    try await Self.installed { site in
      let former = try ReleaseStatus(reading: site.served("/status.json"))
      // Another release, and the same one that was signed anew.
      site.advance(by: 60)
      for (scripts, sequence) in [(Self.scripts, Int64(1)), (["a": "var a = 2"], 2)] {
        try site.publish(scripts, sequence: sequence)
        let digest = try SHA256Digest(of: site.served("/manifest.json"))
        try await Self.refuses(
          .otherManifest(
            named: former.release.name, sequence: former.release.sequence, sha256: former.release.sha256,
            found: digest), site)
      }
    }
  }

  @Test("indefinite freeze: a status beyond its end, also by a 304")
  func expired() async throws {
    try await Self.installed { site in
      let end = SignedTime(seconds: site.now + 3600)
      site.advance(by: 3600)
      try await Self.refuses(.expired(.status, at: end), site)
      #expect(site.origin.requests.last { $0.path == "/status.json" }?.headers[.ifNoneMatch] != nil)
    }
  }

  @Test("indefinite freeze: a status that was signed longer ago than the host allows")
  func frozen() async throws {
    try await Self.installed(freshFor: .seconds(600)) { site in
      let signed = SignedTime(seconds: site.now)
      site.advance(by: 600)
      try await Self.refuses(.frozen(.status, signed: signed, oldest: signed), site)
      try site.publish(site.status(2))
      #expect(try await site.host().preload().failures.isEmpty)
    }
  }

  @Test("indefinite freeze: no status, although the root has the role online")
  func missing() async throws {
    try await Self.installed { site in
      site.origin.always("/status.json", .status(404))
      try await Self.refuses(.noStatus, site)
    }
  }

  @Test("fast forward: a stolen online key signs the largest sequence, and the next root gives the key up")
  func fastForward() async throws {
    try await Self.installed { site in
      try site.publish(site.status(Int64.sequenceLimit))
      #expect(try await site.host().preload().failures.isEmpty)
      try site.publish(site.nextRoot(release: 3, online: [4]), by: [0, 1])
      try site.publish(site.status(2), by: [4])
      #expect(try await site.host().preload().failures.isEmpty)
      #expect(try await site.host().store.trustRecord(of: site.source).statusSequence == 2)
    }
  }

  @Test("key compromise: the next root takes the online key away while the status stays as it is")
  func revokedKey() async throws {
    try await Self.installed { site in
      try site.publish(site.nextRoot(release: 3, online: [4]), by: [0, 1])
      try await Self.refuses(.wronglySigned(.status, valid: 0, threshold: 1), site)
      try site.publish(site.status(1), by: [4])
      #expect(try await site.host().preload().failures.isEmpty)
    }
  }

  @Test(
    "endless data: a status or its signature file that does not end", arguments: ["/status.json", "/status.json.sig"])
  func endlessData(_ path: String) async throws {
    try await Self.installed { site in
      try site.publish(site.status(2))
      site.origin.serve(path, Array(repeating: 0x20, count: 1 << 20))
      let error = await #expect(throws: SourceError.self) { try await site.host().verifier.verified() }
      #expect("\(error.map { "\($0)" } ?? "")".contains("65536"))
    }
  }

  @Test("a status that cannot be read is refused, also if it is signed")
  func unreadable() async throws {
    try await Self.installed { site in
      try site.publish(status: Array("<html>".utf8))
      let error = await #expect(throws: SourceError.self) { try await site.host().verifier.verified() }
      #expect("\(error.map { "\($0)" } ?? "")".contains("the status cannot be read: it is HTML"))
    }
  }

  @Test("confusion: a signed manifest in the place of a status")
  func confusion() async throws {
    try await Self.installed { site in
      site.origin.serve("/status.json", site.served("/manifest.json"))
      site.origin.serve("/status.json.sig", site.served("/manifest.json.sig"))
      try await Self.refuses(.unsigned(.status), site)
    }
  }

  @Test("arbitrary installation: a status that a host without keys has stored")
  func storedWithoutKeys() async throws {
    try await Self.installed { site in
      try site.publish(site.status(2, disabled: ["a": "Hostile."]), by: [0])
      let keyless = try site.host(requiringSignatures: false, keeping: true)
      _ = try await keyless.verifier.verified()
      #expect(try await keyless.store.status(of: site.source)?.bytes == site.served("/status.json"))
      #expect(try await keyless.text("a") == "var a = 1")
      let host = try site.host()
      #expect(try await host.store.status(of: site.source).map { try ReleaseStatus(reading: $0.bytes).sequence } == 1)
      #expect(try await host.store.disabled(of: site.source).isEmpty)
    }
  }

  // MARK: Disabled bundles

  private static let policies: [OpenPolicy] = [
    .networkFirst(deadline: .seconds(60)), .networkOnly, .cacheFirst, .cacheOnly, .staleWhileRevalidate,
  ]

  /// Expects that a bundle is refused with the publisher's message.
  private static func isDisabled(
    _ host: SignedSource.Host, _ policy: OpenPolicy = .networkFirst(deadline: .seconds(60)),
    sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let error = await #expect(throws: BundleError.self, sourceLocation: sourceLocation) {
      try await host.open("b", policy)
    }
    guard case .disabled(_, "Back at noon.") = error else {
      Issue.record("\(error.map { "\($0)" } ?? "nothing")", sourceLocation: sourceLocation)
      return
    }
  }

  @Test("a disabled bundle does not open, with every policy, also offline; other bundles do", arguments: policies)
  func disabled(_ policy: OpenPolicy) async throws {
    try await Self.installed { site in
      try site.publish(site.status(2, disabled: ["b": "Back at noon."]))
      #expect(try await site.host().preload().failures.isEmpty)
      await Self.isDisabled(try site.host(), policy)
      #expect(try await site.host().open("a", policy).bytes == Array("var a = 1".utf8))
      site.origin.always("/manifest.json", .status(503))
      await Self.isDisabled(try site.host(), policy)
      if policy != .networkOnly {
        #expect(try await site.host().open("a", policy).bytes == Array("var a = 1".utf8))
      }
      site.origin.always("/manifest.json", .normal)
    }
  }

  @Test("a bundle that the server disables is refused at the opening which asks the server")
  func disabledAtOpening() async throws {
    try await Self.installed { site in
      try site.publish(site.status(2, disabled: ["b": "Back at noon."]))
      await Self.isDisabled(try site.host())
      await Self.isDisabled(try site.host(), .cacheOnly)
    }
  }

  @Test("a bundle is enabled again by a newer status, also for pages that show stored bytes first", arguments: policies)
  func enabled(_ policy: OpenPolicy) async throws {
    try await Self.installed { site in
      try site.publish(site.status(2, disabled: ["b": "Back at noon."]))
      #expect(try await site.host().preload().failures.isEmpty)
      try site.publish(site.status(3))
      let host = try site.host()
      if policy == .cacheOnly { _ = try await host.verifier.verified() }
      #expect(try await host.open("b", policy).bytes == Array("var b = 1".utf8))
    }
  }

  @Test("a disabled bundle that is not stored is not fetched, by openings and by preloads, and the release is complete")
  func notFetched() async throws {
    try await SignedSource.running(online: [5]) { site in
      try site.publish(Self.scripts)
      try site.publish(site.status(1, disabled: ["b": "Back at noon."]))
      let report = try await site.host().preload()
      #expect(report.failures.isEmpty && report.activated, "\(report.failures)")
      for policy in Self.policies { await Self.isDisabled(try site.host(), policy) }
      #expect(site.origin.requestCount(path: "/b/b.js") == 0)
      #expect(try await site.host().text("a") == "var a = 1")
      try site.publish(site.status(2))
      #expect(try await site.host().preload().failures.isEmpty)
      #expect(site.origin.requestCount(path: "/b/b.js") == 1)
      #expect(try await site.host().text("b") == "var b = 1")
    }
  }

  @Test("a disabled bundle is refused in an older release too")
  func olderRelease() async throws {
    try await Self.installed { site in
      try site.publish(["a": "var a = 1"], sequence: 2)
      try site.publish(site.status(2, disabled: ["b": "Back at noon."]))
      #expect(try await site.host().preload().activated)
      for policy in Self.policies { await Self.isDisabled(try site.host(), policy) }
    }
  }

  @Test("a page with a deadline is refused by the stored status when the server is silent")
  func silentServer() async throws {
    try await Self.installed { site in
      try site.publish(site.status(2, disabled: ["b": "Back at noon."]))
      #expect(try await site.host().preload().failures.isEmpty)
      site.origin.always("/manifest.json", .stallBeforeHead)
      await Self.isDisabled(try site.host(), .networkFirst(deadline: .milliseconds(100)))
      site.origin.always("/manifest.json", .normal)
    }
  }

  @Test("indefinite freeze: a status that says it was signed in the future")
  func future() async throws {
    try await SignedSource.running(freshFor: .seconds(3600), online: [5]) { site in
      try site.publish(["a": "var a = 1"])
      var status = try site.status(1, for: 86_400)
      status.signed = SignedTime(seconds: site.now + 7200)
      try site.publish(status)
      try await Self.refuses(
        .future(.status, signed: status.signed, latest: SignedTime(seconds: site.now + 300)), site)
      status.signed = SignedTime(seconds: site.now + 300)
      try site.publish(status)
      #expect(try await site.host().preload().activated)
    }
  }
}
