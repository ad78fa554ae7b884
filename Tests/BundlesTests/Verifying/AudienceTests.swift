import Foundation
import HTTPTypes
import PageTesting
import Releases
import Testing

@testable import Bundles
@testable import HTTPTransport

/// Hosts that get different releases of one source.
struct AudienceTests {
  /// Publishes `r1` as `old/manifest.json`, and `r2` beside it with these members.
  private static func publish(
    _ fixture: LoadingFixture, _ word: String = "2", _ change: (inout Manifest) -> Void
  ) throws {
    let old = try fixture.publish(["a": "1"], release: "r1")
    let oldBytes = Array("// 1".utf8)
    var former = old
    former.base = "b/"
    former.bundles = [.init(name: "a", path: "a.js", md5: try ContentDigests(of: oldBytes).md5)]
    fixture.origin.serve("/old/b/a.js", oldBytes, contentType: "text/javascript")
    let bytes = Array(try JSONEncoder().encode(former))
    fixture.origin.serve("/old/manifest.json", bytes, etag: "\"old\"")
    var manifest = try fixture.publish(["a": word], release: "r2")
    manifest.sequence = 2
    manifest.otherwise = ManifestReference(
      url: "old/manifest.json", sha256: try ContentDigests(of: bytes).sha256)
    change(&manifest)
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let text = Array(try encoder.encode(manifest))
    fixture.origin.serve("/manifest.json", text, etag: "\"\(try ContentDigests(of: text).md5)\"")
  }

  private static func host(_ fixture: LoadingFixture, _ audience: Audience = Audience()) throws -> Preloader {
    let verifier = LaunchVerifier(
      source: try fixture.source, store: fixture.store, client: try fixture.client(),
      audience: audience, retry: RetryPolicy(attempts: 1), sleep: { _ in })
    return Preloader(store: fixture.store, verifier: verifier, downloader: try fixture.downloader())
  }

  private static func current(_ fixture: LoadingFixture) async throws -> String? {
    try await fixture.store.source(fixture.source)?.current?.name
  }

  @Test("an install outside of a rollout gets the other release, also at first, and asks once for each launch")
  func otherwise() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      try Self.publish(fixture) { $0.rollout = Rollout(percent: 0, salt: "s") }
      let report = try await Self.host(fixture).start().report()
      #expect(report.failures.isEmpty && report.release == "r1", "\(report)")
      #expect(try await fixture.stored == ["a": "// 1"])
      let requests = fixture.origin.requests.count
      for _ in 0..<3 { _ = try await Self.host(fixture).start().report() }
      // The source's manifest is unchanged, so that the other one is not asked for.
      #expect(fixture.origin.requests.count - requests == 3)
      #expect(fixture.origin.requestCount(path: "/old/manifest.json") == 1)
    }
  }

  @Test("a rollout that grows reaches an install once, and a lower share does not take it back")
  func growing() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      var reached: Double?
      for percent in stride(from: 0.0, through: 100, by: 10) {
        try Self.publish(fixture) { $0.rollout = Rollout(percent: percent, salt: "s") }
        _ = try await Self.host(fixture).start().report()
        let isReached = try await Self.current(fixture) == "r2"
        if let reached { #expect(isReached, "reached at \(reached) %, and not at \(percent) %") }
        if isReached, reached == nil {
          reached = percent
          let release = try #require(try await fixture.store.source(fixture.source)?.current)
          try await fixture.store.mark(release, as: .good)
        }
      }
      #expect(reached != nil)
      // It is the same release, whose share has changed, also when the rollout is over, and when it goes on.
      for rollout in [Rollout(percent: 0, salt: "s"), nil, Rollout(percent: 1, salt: "s")] {
        try Self.publish(fixture) { manifest in
          manifest.rollout = rollout
          if rollout == nil { manifest.otherwise = nil }
        }
        _ = try await Self.host(fixture).start().report()
        let current = try #require(try await fixture.store.source(fixture.source)?.current)
        #expect((current.name, current.standing) == ("r2", .good), "\(rollout?.percent ?? 100)")
        #expect(try await fixture.store.releases(of: fixture.source).count { $0.release.name == "r2" } == 1)
      }
    }
  }

  @Test("an app that follows a channel, or gets a newer runtime, gets its release at the next launch")
  func audiences() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      try Self.publish(fixture) { manifest in
        manifest.minimumRuntime = "1.4"
        manifest.channels = manifest.otherwise.map { ["slow": $0] } ?? [:]
      }
      var audience = Audience()
      for (channel, version, name) in [
        (nil, "1.3", "r1"), (nil, "1.4", "r2"), ("slow", "1.4", "r1"), ("fast", "1.4", "r2"), (nil, nil, "r2"),
      ] as [(String?, String?, String)] {
        (audience.channel, audience.runtimeVersion) = (channel, version)
        _ = try await Self.host(fixture, audience).start().report()
        #expect(try await Self.current(fixture) == name, "\(channel ?? "-") \(version ?? "-")")
      }
    }
  }

  @Test("a release that needs a newer app, without another for it, is refused, and the stored one stays")
  func tooNew() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      try fixture.publish(["a": "1"], release: "r1")
      _ = try await fixture.preload()
      try Self.publish(fixture) { ($0.minimumRuntime, $0.otherwise) = ("2", nil) }
      var audience = Audience()
      audience.runtimeVersion = "1.4"
      let report = try await Self.host(fixture, audience).start().report()
      #expect(report.failures.first?.error.contains("needs the runtime 2, and this is 1.4: update the app") == true)
      #expect(try await Self.current(fixture) == "r1")
    }
  }

  @Test("the other manifest must have the bytes that are named")
  func otherBytes() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      try Self.publish(fixture) { $0.rollout = Rollout(percent: 0, salt: "s") }
      fixture.origin.serve("/old/manifest.json", Array("{}".utf8))
      var report = try await Self.host(fixture).start().report()
      #expect(
        report.failures.first?.error.contains("publish the manifest that names it last") == true, "\(report.failures)")
      fixture.origin.always("/old/manifest.json", .status(404))
      report = try await Self.host(fixture).start().report()
      #expect(report.failures.first?.error.contains("which the server does not have") == true, "\(report.failures)")
      #expect(try await Self.current(fixture) == nil)
    }
  }

  @Test("an install keeps its id, also with several processes at once")
  func install() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      let other = try fixture.anotherProcess()
      let ids = try await withThrowingTaskGroup(of: String.self) { group in
        for index in 0..<20 { group.addTask { try await (index % 2 == 0 ? fixture : other).store.installID() } }
        return try await group.reduce(into: Set<String>()) { $0.insert($1) }
      }
      #expect(ids.count == 1)
      #expect(ids.first?.count == 32)
    }
  }
}
