import Foundation
import HTTPTransport
import PageTesting
import Releases
import Testing

@testable import Bundles

/// Attacks of a hostile server, or of somebody between it and the host: those that The Update Framework names, and
/// those on what PageKit adds.
struct SignedReleaseTests {
  private static let scripts = ["a": "var a = 1"]

  /// Expects that the host refuses what the server has now with this error, and goes on with the release before.
  private static func refuses(
    _ error: TrustError, _ site: SignedSource, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let host = try site.host()
    let found = await #expect(throws: SourceError.self, sourceLocation: sourceLocation) {
      try await host.verifier.verified()
    }
    guard case .untrusted(_, let reason) = found else {
      Issue.record("\(found.map { "\($0)" } ?? "nothing")", sourceLocation: sourceLocation)
      return
    }
    #expect(reason == error, sourceLocation: sourceLocation)
    let report = await host.preload()
    #expect(!report.failures.isEmpty, sourceLocation: sourceLocation)
  }

  @Test("a signed release is preloaded, and opens also without the server")
  func signedRelease() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      let report = try await site.host().preload()
      #expect(report.failures.isEmpty && report.activated, "\(report.failures)")
      site.origin.always("/manifest.json", .status(503))
      #expect(try await site.host().text("a") == "var a = 1")
    }
  }

  @Test("a signed release is found by its pointer, which has no signatures, and an unsigned one is refused")
  func pointer() async throws {
    try await SignedSource.running { (site: SignedSource) async throws in
      func publish(_ sequence: Int64, by signers: [Int]) throws {
        site.serve("a", "var a = \(sequence)")
        let manifest = try site.manifest(["a": "var a = \(sequence)"], sequence: sequence)
        let bytes = try manifest.fileBytes()
        try site.publish(bytes, at: "/\(sequence).manifest.json", by: signers)
        let release = ReleasePointer.Release(
          release: manifest.release, sequence: sequence,
          manifest: .init(url: "\(sequence).manifest.json", sha256: try SHA256Digest(of: bytes)), publishedAt: "")
        let pointer = try JSONEncoder().encode(ReleasePointer(current: release))
        site.origin.serve("/manifest.json", Array(pointer), etag: "\"\(sequence)\"")
      }
      try publish(1, by: [3])
      let report = try await site.host().preload()
      #expect(report.failures.isEmpty && report.activated && report.release == "r1", "\(report.failures)")
      try publish(2, by: [4])
      try await Self.refuses(.wronglySigned(.manifest, valid: 0, threshold: 1), site)
      // Whoever can write the pointer alone cannot bring an old release back.
      try publish(3, by: [3])
      #expect(try await site.host().preload().release == "r3")
      try publish(1, by: [3])
      #expect(try await !site.host().preload().failures.isEmpty)
    }
  }

  /// Publishes a release to nobody, and its predecessor, by these keys, to all.
  private static func rollOut(_ site: SignedSource, otherBy signers: [Int] = [3]) throws {
    for name in ["a", "b"] { site.serve(name, "var \(name) = 1") }
    let other = Array(try JSONEncoder().encode(try site.manifest(["a": "var a = 1"], sequence: 1)))
    try site.publish(other, at: "/old.json", by: signers)
    var manifest = try site.manifest(["b": "var b = 1"], sequence: 2)
    manifest.rollout = Rollout(percent: 0, salt: "")
    manifest.otherwise = ManifestReference(url: "old.json", sha256: try ContentDigests(of: other).sha256)
    try site.publish(manifest)
  }

  @Test("a signed rollout names a manifest with a lower sequence, which is signed too")
  func rollout() async throws {
    try await SignedSource.running { (site: SignedSource) async throws in
      try Self.rollOut(site)
      for _ in 0..<2 {
        let host = try site.host()
        let report = await host.preload()
        #expect(report.failures.isEmpty && report.release == "r1", "\(report.failures)")
        #expect(try await host.text("a") == "var a = 1")
        // The sequence that was seen stays: a server that goes back is refused.
        #expect(try await host.store.trustRecord(of: site.source).sequence == 2)
      }
      try site.publish(["a": "var a = 1"], sequence: 1)
      try await Self.refuses(.rollback(known: 2, found: 1), site)
    }
  }

  @Test("arbitrary installation: a rollout's other manifest that nobody has signed, or another key")
  func rolloutUnsigned() async throws {
    try await SignedSource.running { (site: SignedSource) async throws in
      try Self.rollOut(site, otherBy: [4])
      try await Self.refuses(.wronglySigned(.manifest, valid: 0, threshold: 1), site)
      site.origin.always("/old.json.sig", .status(404))
      try await Self.refuses(.unsigned(.manifest), site)
    }
  }

  @Test("arbitrary installation: a manifest that nobody has signed")
  func unsigned() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      site.origin.always("/manifest.json.sig", .status(404))
      try await Self.refuses(.unsigned(.manifest), site)
      await #expect(throws: BundleError.self) { try await site.host().open("a") }
    }
  }

  @Test("arbitrary installation: a manifest that another key has signed", arguments: [[0, 1, 2], [4]])
  func wrongKey(_ signers: [Int]) async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts, by: signers)
      try await Self.refuses(.wronglySigned(.manifest, valid: 0, threshold: 1), site)
    }
  }

  @Test("arbitrary installation: no manifest at all, and a bundle that none lists")
  func unlisted() async throws {
    try await SignedSource.running { site in
      site.serve("a", "var hostile")
      await #expect(throws: BundleError.self) { try await site.host().open("a") }
      try site.publish(Self.scripts)
      site.serve("b", "var hostile")
      let error = await #expect(throws: BundleError.self) { try await site.host().open("b") }
      #expect("\(error.map { "\($0)" } ?? "")".contains("no signed manifest lists it"))
      #expect(site.origin.requestCount(path: "/b/b.js") == 0)
    }
  }

  @Test("arbitrary installation: what was stored before the host had keys")
  func storedBefore() async throws {
    try await SignedSource.running { site in
      try site.publish(["a": "var hostile"], by: [])
      #expect(try await site.host(requiringSignatures: false).preload().activated)
      site.origin.always("/manifest.json", .status(503))
      await #expect(throws: BundleError.self) { try await site.host().open("a") }
      site.origin.always("/manifest.json", .normal)
      try site.publish(Self.scripts, sequence: 2)
      #expect(try await site.host().text("a") == "var a = 1")
    }
  }

  @Test("the release that was stored before the host had keys is taken over once its signatures were checked")
  func storedBeforeAndSigned() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      #expect(try await site.host(requiringSignatures: false).preload().activated)
      #expect(try await site.host().preload().failures.isEmpty)
      #expect(site.origin.requestCount(path: "/b/a.js") == 1)
      site.origin.always("/manifest.json", .status(503))
      #expect(try await site.host().text("a") == "var a = 1")
    }
  }

  @Test("rollback: a release with a lower sequence")
  func rollback() async throws {
    try await SignedSource.running { site in
      try site.publish(["a": "var a = 2"], sequence: 2)
      #expect(try await site.host().preload().activated)
      try site.publish(Self.scripts, sequence: 1)
      try await Self.refuses(.rollback(known: 2, found: 1), site)
      #expect(try await site.host().text("a") == "var a = 2")
    }
  }

  @Test("rollback: an older signature for the newer manifest")
  func replayedSignature() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts, sequence: 1)
      let old = try site.manifest(Self.scripts, sequence: 1)
      try site.publish(old)
      let bytes = Array(try JSONEncoder().encode(try site.manifest(Self.scripts, sequence: 2)))
      site.origin.serve("/manifest.json", bytes)
      try await Self.refuses(.wronglySigned(.manifest, valid: 0, threshold: 1), site)
    }
  }

  @Test("indefinite freeze: the same release for longer than it was signed for, also by a 304")
  func expired() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      #expect(try await site.host().preload().activated)
      let end = SignedTime(seconds: site.now + 86_400)
      site.advance(by: 86_400)
      try await Self.refuses(.expired(at: end), site)
      #expect(site.origin.requests.last { $0.path == "/manifest.json" }?.headers[.ifNoneMatch] != nil)
      // What is installed goes on, as without a server.
      #expect(try await site.host().text("a") == "var a = 1")
    }
  }

  @Test("indefinite freeze: a release that was signed longer ago than the host allows")
  func frozen() async throws {
    try await SignedSource.running(freshFor: .seconds(3600)) { site in
      try site.publish(Self.scripts)
      let signed = SignedTime(seconds: site.now)
      #expect(try await site.host().preload().activated)
      site.advance(by: 3600)
      try await Self.refuses(.frozen(signed: signed, oldest: signed), site)
      try site.publish(Self.scripts)
      #expect(try await site.host().preload().failures.isEmpty)
    }
  }

  @Test("fast forward: a stolen key signs the largest sequence, and the next root gives the key up")
  func fastForward() async throws {
    try await SignedSource.running { site in
      try site.publish(["a": "var hostile"], sequence: Int64.sequenceLimit)
      #expect(try await site.host().preload().activated)
      try site.publish(site.nextRoot(release: 4), by: [0, 1])
      try site.publish(Self.scripts, sequence: 2, by: [4])
      #expect(try await site.host().preload().activated)
      #expect(try await site.host().text("a") == "var a = 1")
    }
  }

  @Test("mix and match: the bundle of another release")
  func mixAndMatch() async throws {
    try await SignedSource.running { site in
      try site.publish(["a": "var a = 1", "b": "var b = 1"])
      site.serve("b", "var b = 2")
      let host = try site.host()
      let report = await host.preload()
      #expect(!report.activated)
      #expect(report.failures.map(\.name) == ["b"])
    }
  }

  @Test("mix and match: two releases with one sequence")
  func ambiguous() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      #expect(try await site.host().preload().activated)
      try site.publish(["a": "var a = 2"])
      try await Self.refuses(.ambiguous(sequence: 1), site)
    }
  }

  @Test("endless data: more bytes than the manifest says")
  func endlessData() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      site.serve("a", String(repeating: "var a = 1\n", count: 100_000))
      let report = try await site.host().preload()
      #expect(report.failures.count == 1)
      await #expect(throws: BundleError.self) { try await site.host().open("a") }
    }
  }

  @Test("endless data: signatures and roots that are too long", arguments: ["/manifest.json.sig", "/2.root.json"])
  func endlessSignatures(_ path: String) async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      site.origin.serve(path, Array(repeating: 0x20, count: 1 << 20))
      let error = await #expect(throws: SourceError.self) { try await site.host().verifier.verified() }
      #expect("\(error.map { "\($0)" } ?? "")".contains("65536"))
    }
  }

  @Test("wrong software: entries whose bytes the signature does not bind")
  func unbound() async throws {
    try await SignedSource.running { site in
      var manifest = try site.manifest(Self.scripts, sequence: 1)
      manifest.bundles[0].sha256 = nil
      try site.publish(manifest)
      try await Self.refuses(.unbound(entry: "\"a\"", count: 1), site)
    }
  }

  @Test("downgrade: a manifest in another program's form")
  func dialect() async throws {
    try await SignedSource.running { site in
      let md5 = try ContentDigests(of: Array("var a = 1".utf8)).md5
      try site.publish(Array(#"[{"path": "b/a.js", "md5": "\#(md5)"}]"#.utf8))
      try await Self.refuses(.foreign(dialect: "weexbox"), site)
    }
  }

  @Test("downgrade: a manifest without an end")
  func unlimited() async throws {
    try await SignedSource.running { site in
      var manifest = try site.manifest(Self.scripts, sequence: 1)
      manifest.additional["expires"] = nil
      try site.publish(manifest)
      try await Self.refuses(.unlimited, site)
    }
  }

  @Test("key compromise: the next root takes the release key away")
  func revokedKey() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      try site.publish(site.nextRoot(release: 4), by: [0, 1])
      try await Self.refuses(.wronglySigned(.manifest, valid: 0, threshold: 1), site)
      // The root stays, also if the server no longer shows it.
      site.origin.always("/2.root.json", .status(404))
      try await Self.refuses(.wronglySigned(.manifest, valid: 0, threshold: 1), site)
    }
  }

  @Test("key compromise: the next root takes the release key away while the manifest stays as it is")
  func revokedKeyOfUnchangedManifest() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      #expect(try await site.host().preload().activated)
      try site.publish(site.nextRoot(release: 4), by: [0, 1])
      try await Self.refuses(.wronglySigned(.manifest, valid: 0, threshold: 1), site)
      #expect(site.origin.requests.contains { $0.path == "/manifest.json" && $0.headers[.ifNoneMatch] != nil })
      try site.publish(try site.manifest(Self.scripts, sequence: 1), by: [4])
      #expect(try await site.host().preload().failures.isEmpty)
    }
  }

  @Test("an unchanged manifest is checked with the signatures that are stored")
  func unchangedManifest() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      #expect(try await site.host().preload().activated)
      let asked = site.origin.requestCount(path: "/manifest.json.sig")
      #expect(try await site.host().verifier.verified().isUnchanged)
      #expect(site.origin.requestCount(path: "/manifest.json.sig") == asked)
    }
  }

  @Test("a release that is being published is asked for again: its signatures may come a moment later")
  func publishing() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      #expect(try await site.host().preload().activated)
      try site.publish(["a": "var a = 2"], sequence: 2)
      site.origin.script("/manifest.json.sig", [.status(404)])
      #expect(try await site.host().preload().activated)
      #expect(try await site.host().text("a") == "var a = 2")
    }
  }

  @Test(
    "key compromise: a root that too few keys have signed",
    arguments: [([0], 1), ([3, 4], 0), ([0, 3, 4], 1)])
  func forgedRoot(_ signers: [Int], _ valid: Int) async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts, by: [4])
      try site.publish(site.nextRoot(release: 4), by: signers)
      try await Self.refuses(.wronglySigned(.root, valid: valid, threshold: 2), site)
    }
  }

  @Test("an expired root trusts nothing")
  func expiredRoot() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts, by: [4])
      try site.publish(site.nextRoot(release: 4, expires: site.now), by: [0, 2])
      try await Self.refuses(.expiredRoot(version: 2, at: SignedTime(seconds: site.now)), site)
    }
  }

  @Test("a root of another version under the next one's name")
  func wrongRootVersion() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      site.origin.serve("/2.root.json", try site.root.encoded())
      try await Self.refuses(.wrongRootVersion(expected: 2, found: 1), site)
    }
  }

  @Test("a manifest that is signed anew is no new release: it brings no bytes again, and is no news")
  func signedAnew() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      #expect(try await site.host().preload().activated)
      site.advance(by: 80_000)
      try site.publish(Self.scripts)
      site.advance(by: 80_000)
      let former = try await site.host().store.source(site.source)?.current
      let report = try await site.host().preload()
      #expect(report.failures.isEmpty && !report.activated)
      #expect(site.origin.requestCount(path: "/b/a.js") == 1)
      let stored = try #require(try await site.host().store.source(site.source))
      #expect(stored.current?.id == former?.id && stored.incoming == nil)
      #expect(stored.current?.signed?.signed?.seconds == former?.signed?.signed.map { $0.seconds + 80_000 })
      #expect(try await site.host().verifier.verified().isUnchanged)
    }
  }

  @Test("a bundle that the newest signed manifest lists no more is kept for pages that ask for it without confirmation")
  func removedBundle() async throws {
    try await SignedSource.running { site in
      try site.publish(["a": "var a = 1", "b": "var b = 1"])
      #expect(try await site.host().preload().activated)
      try site.publish(Self.scripts, sequence: 2)
      let host = try site.host()
      #expect(await host.preload().activated)
      #expect(try await host.open("b").source == .kept)
      await #expect(throws: BundleError.self) { try await host.open("b", .networkOnly) }
      #expect(site.origin.requestCount(path: "/b/b.js") == 1)
    }
  }

  @Test("key compromise: a chain of roots that is too long to be followed at once")
  func longChain() async throws {
    try await SignedSource.running { site in
      let last = site.root.version + Int64(SignedFiles.rootLimit) + 3
      for version in 2..<last { try site.publish(site.laterRoot(version, release: 3), by: [0, 1]) }
      // The last one gives the release key up.
      try site.publish(site.laterRoot(last, release: 4), by: [0, 1])
      try site.publish(["a": "var hostile"])
      let host = try site.host()
      let reached = site.root.version + Int64(SignedFiles.rootLimit)
      let error = await #expect(throws: SourceError.self) { try await host.verifier.verified() }
      guard case .untrusted(_, .moreRoots(after: reached)) = error else {
        Issue.record("\(error.map { "\($0)" } ?? "nothing")")
        return
      }
      #expect(try await host.store.source(site.source)?.latest == nil)
      // What was followed is remembered.
      try await Self.refuses(.wronglySigned(.manifest, valid: 0, threshold: 1), site)
      #expect(site.origin.requestCount(path: "/2.root.json") == 1)
      try site.publish(Self.scripts, by: [4])
      #expect(try await site.host().text("a") == "var a = 1")
    }
  }

  @Test("a server that cannot say that a root is missing has none", arguments: [403, 200])
  func answersForMissingRoots(_ status: Int) async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      if status == 403 {
        site.origin.always("/2.root.json", .status(403))
      } else {
        site.origin.serve("/2.root.json", Array("<!doctype html><title>Pages</title>".utf8))
      }
      #expect(try await site.host().preload().activated)
      // A web page in the place of the signatures is named.
      site.origin.serve("/manifest.json.sig", Array("<!doctype html>".utf8))
      try site.publish(site.manifest(["a": "var a = 2"], sequence: 2), by: [])
      site.origin.serve("/manifest.json.sig", Array("<!doctype html>".utf8))
      let error = await #expect(throws: SourceError.self) { try await site.host().verifier.verified() }
      #expect("\(error.map { "\($0)" } ?? "")".contains("it is HTML"))
    }
  }

  @Test("a server that fails for the next root is not taken for one that has none", arguments: [401, 500])
  func failingRoots(_ status: Int) async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      site.origin.always("/2.root.json", .status(status))
      await #expect(throws: SourceError.self) { try await site.host().verifier.verified() }
    }
  }

  @Test("indefinite freeze: a manifest that says it was signed in the future")
  func future() async throws {
    try await SignedSource.running(freshFor: .seconds(3600)) { site in
      var manifest = try site.manifest(Self.scripts, sequence: 1)
      let (late, end) = (SignedTime(seconds: site.now + 301), SignedTime(seconds: site.now + 86_400))
      manifest.setTimes(signed: late, expires: end)
      site.serve("a", "var a = 1")
      try site.publish(manifest)
      try await Self.refuses(.future(signed: late, latest: SignedTime(seconds: site.now + 300)), site)
      // Clocks differ a little.
      site.advance(by: 1)
      #expect(try await site.host().preload().activated)
    }
  }

  @Test("arbitrary installation: what a host without keys puts into the same store, once and again")
  func sharedStore() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      #expect(try await site.host().preload().activated)
      for number in 2...4 {
        try site.publish(["a": "var hostile = \(number)"], sequence: Int64(number), by: [])
        let host = try site.host(requiringSignatures: false, keeping: number == 3)
        #expect(await host.preload().activated)
        _ = try await host.store.collectGarbage(keepingPrevious: false, dryRun: false)
        #expect(try await host.text("a") == "var hostile = \(number)")
      }
      site.origin.always("/manifest.json", .status(503))
      let host = try site.host()
      #expect(try await host.text("a") == "var a = 1")
      #expect(try await host.store.source(site.source)?.current?.name == "r1")
      #expect(try await host.store.bundle(at: #require(PageURL(site.origin.url(for: "/b/a.js"))))?.blob != nil)
      let release = try #require(try await host.store.source(site.source)?.current)
      #expect(try await host.store.lastGood(before: release) == nil)
      // A later release of the publisher takes its place.
      site.origin.always("/manifest.json", .normal)
      try site.publish(["a": "var a = 5"], sequence: 5)
      #expect(try await site.host().preload().activated)
      #expect(try await site.host().text("a") == "var a = 5")
    }
  }

  @Test("the release of before opens although the server has nothing new for hosts with keys, and stays signed")
  func sharedStoreUnchanged() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      #expect(try await site.host().preload().activated)
      // The same manifest, for hosts that get it from one without keys.
      #expect(try await site.host(requiringSignatures: false, keeping: true).preload().failures.isEmpty)
      #expect(try await site.host().store.source(site.source)?.current?.signed != nil)
      // The same release with other bytes that nobody has signed.
      var manifest = try site.manifest(Self.scripts, sequence: 1)
      manifest.rollout = Rollout(percent: 100, salt: "")
      try site.publish(manifest, by: [])
      #expect(try await site.host(requiringSignatures: false, keeping: true).preload().failures.isEmpty)
      let store = try site.host().store
      let release = try #require(try await store.source(site.source)?.current)
      let file = try SignatureFile(reading: #require(try await store.signatures(of: release)))
      #expect(try await file.content == SHA256Digest(of: store.manifestBytes(of: release)))
      site.origin.always("/manifest.json", .status(503))
      #expect(try await site.host().text("a") == "var a = 1")
    }
  }

  @Test("a release that somebody holds without keys holds nothing for hosts with keys")
  func heldWithoutKeys() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      #expect(try await site.host().preload().activated)
      try site.publish(["a": "var hostile"], sequence: 2, by: [])
      let other = try site.host(requiringSignatures: false)
      #expect(await other.preload().activated)
      try await other.store.hold(try #require(try await other.store.source(site.source)?.current))
      let host = try site.host()
      #expect(try await host.store.source(site.source)?.isHeld == false)
      try site.publish(["a": "var a = 3"], sequence: 3)
      #expect(try await site.host().preload().activated)
      #expect(try await site.host().text("a") == "var a = 3")
      #expect(try await host.store.source(site.source)?.isHeld == false)
      // Nor does it become current when the newest is to be followed.
      try site.publish(["a": "var hostile"], sequence: 4, by: [])
      #expect(try await other.verifier.refresh().release.name == "r4")
      #expect(try await site.host(requiringSignatures: false).preload().activated)
      #expect(try await host.store.follow(site.source)?.name == "r3")
    }
  }
}
