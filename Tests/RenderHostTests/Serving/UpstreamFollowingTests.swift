import CCrypto
import Foundation
import PageKit
import PageTesting
import Releases
import Testing

@testable import RenderHost
@testable import ServerKit

@Suite(.timeLimit(.minutes(2)))
struct UpstreamFollowingTests {
  private static let asked = "renderhost_verifications_total"
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// Serves a release of these bundles, whose base there differs from the one here.
  private static func publish(
    _ origin: FaultOrigin, _ bundles: [String: String], demand: Set<String> = [], sequence: Int64 = 1
  ) throws {
    let entries = try bundles.sorted { $0.key < $1.key }.map { path, text in
      let bytes = Array(text.utf8)
      origin.serve("/cdn/v1/\(path)", bytes)
      return Manifest.Entry(
        name: Manifest.Entry.name(forPath: path), path: path, md5: try ContentDigests(of: bytes).md5,
        preload: demand.contains(path) ? .demand : .launch)
    }
    let manifest = Manifest(release: "r\(sequence)", sequence: sequence, base: "cdn/v1/", bundles: entries)
    origin.serve("/manifest.json", Array(try JSONEncoder().encode(manifest)), etag: "\"\(sequence)\"")
  }

  private func following(
    _ origin: FaultOrigin, every period: Duration = .seconds(3600),
    _ body: @escaping @Sendable (ServingFixture) async throws -> Void
  ) async throws {
    let url = try #require(PageURL(origin.url(for: "/manifest.json")))
    try await ServingFixture.running(
      directory,
      {
        $0.manifest = url
        $0.follow = period
      }, body)
  }

  @Test("the host is ready after the preload of the release")
  func preload() async throws {
    try await FaultOrigin.running { origin in
      try Self.publish(origin, ["home.js": "// home", "list.js": "// list"])
      try await following(origin) { (host: ServingFixture) async throws in
        #expect(host.feed.readiness.isReady)
        #expect(host.feed.readiness.bundles == 2)
        #expect(try #require(host.feed.verified).timeIntervalSinceNow > -60)
        try await origin.refuseConnections()
        #expect(try await host.get("/bundles/home.js").text == "// home")
        let manifest = try await host.manifest()
        #expect(manifest.base == "bundles/" && manifest.release == "r1")
        // The source gives only MD5s; this host has the other digests too.
        #expect(manifest.bundles.first?.size == 7)
        #expect(manifest.bundles.first?.sha256 == (try ContentDigests(of: Array("// home".utf8)).sha256))
      }
    }
  }

  @Test("the stored release is served while the upstream is unreachable")
  func storedRelease() async throws {
    try await FaultOrigin.running { origin in
      try Self.publish(origin, ["home.js": "// home"])
      try await following(origin) { _ in }
      try await origin.refuseConnections()
      try await following(origin) { (host: ServingFixture) async throws in
        #expect(host.feed.readiness.isReady)
        #expect(host.feed.readiness.problem?.contains(origin.url(for: "/manifest.json")) == true)
        #expect(try host.count(Self.asked, ["outcome": "failed"]) == 1)
        #expect(host.feed.verified == nil)
        #expect(host.record.failures.latest.map(\.kind) == ["release"])
        #expect(try await host.get("/bundles/home.js").text == "// home")
      }
    }
  }

  @Test("without a stored release and upstream the host is not ready")
  func notReady() async throws {
    try await FaultOrigin.running { origin in
      try await origin.refuseConnections()
      try await following(origin) { (host: ServingFixture) async throws in
        #expect(!host.feed.readiness.isReady)
        let answer = try await host.get("/bundles/home.js")
        #expect(answer.status == 503)
        #expect(answer["Retry-After"] == "1")
      }
    }
  }

  @Test("the upstream is polled")
  func polling() async throws {
    try await FaultOrigin.running { origin in
      try Self.publish(origin, ["home.js": "// one"])
      try await following(origin, every: .milliseconds(50)) { (host: ServingFixture) async throws in
        try Self.publish(origin, ["home.js": "// two"], sequence: 2)
        try await host.waitForRelease("home.js", "// two")
        // The former release again.
        try Self.publish(origin, ["home.js": "// one"], sequence: 1)
        try await host.waitForRelease("home.js", "// one")
        #expect(try await host.manifest().release == "r1")
      }
    }
  }

  @Test("a host with a root serves nothing that its keys have not signed")
  func signatures() async throws {
    let (upstream, other) = (try SignedUpstream(), try SignedUpstream())
    try upstream.writeRoot(to: directory.file("1.root.json"))
    try await FaultOrigin.running { origin in
      let url = try #require(PageURL(origin.url(for: "/manifest.json")))
      try upstream.publish("// one", sequence: 1, on: origin)
      try await ServingFixture.running(
        directory,
        {
          $0.manifest = url
          $0.follow = .milliseconds(50)
          $0.root = directory.file("1.root.json")
        }
      ) { host in
        #expect(try await host.get("/bundles/home.js").text == "// one")
        try other.publish("// hostile", sequence: 2, on: origin)
        try await host.wait { $0.problem?.contains("valid signatures of 0 trusted keys, 1 are needed") == true }
        #expect(try await host.get("/bundles/home.js").text == "// one")
        try upstream.publish("// two", sequence: 3, on: origin)
        try await host.waitForRelease("home.js", "// two")
      }
    }
  }

  @Test("a missing status is reported with the command that makes one")
  func missingStatus() async throws {
    let upstream = try SignedUpstream()
    try Data(try upstream.onlineRoot.encoded()).write(to: URL(fileURLWithPath: directory.file("1.root.json")))
    try await FaultOrigin.running { origin in
      let url = try #require(PageURL(origin.url(for: "/manifest.json")))
      try upstream.publish("// one", sequence: 1, on: origin)
      try await ServingFixture.running(
        directory,
        {
          $0.manifest = url
          $0.root = directory.file("1.root.json")
        }
      ) { host in
        try await host.wait { $0.problem?.contains("asks for: make one with \"bundlectl manifest status\"") == true }
      }
    }
  }

  @Test(
    "a root that cannot be used is reported at the start",
    arguments: [("absent.json", "cannot be read"), ("text.json", "the root cannot be read: it is not JSON")])
  func unusableRoot(_ name: String, _ reason: String) throws {
    try Data("text".utf8).write(to: URL(fileURLWithPath: directory.file("text.json")))
    var settings = Settings()
    settings.manifest = PageURL("https://pages.example.com/manifest.json")
    settings.root = directory.file(name)
    #expect(settings.problems.contains { $0.hasPrefix("--root:") && $0.contains(reason) })
    settings.manifest = nil
    settings.bundles = directory.file("bundles")
    #expect(throws: SettingsError.self) { try settings.checkCombinations() }
  }

  @Test("an incomplete release is not served")
  func incompleteRelease() async throws {
    try await FaultOrigin.running { origin in
      try Self.publish(origin, ["home.js": "// one", "list.js": "// one"])
      try await following(origin, every: .milliseconds(50)) { (host: ServingFixture) async throws in
        origin.always("/cdn/v1/list.js", .status(404))
        try Self.publish(origin, ["home.js": "// two", "list.js": "// list two"], sequence: 2)
        try await host.wait { $0.problem?.contains("r2 is not complete") == true }
        #expect(try await host.get("/bundles/home.js").text == "// one")
        origin.serve("/cdn/v1/list.js", Array("// list two".utf8))
        origin.always("/cdn/v1/list.js", .normal)
        try await host.waitForRelease("list.js", "// list two")
        #expect(try await host.get("/bundles/home.js").text == "// two")
      }
    }
  }

  @Test("bundles and correct pictures of an Eros manifest with wrong MD5s of other pictures are served")
  func wrongPictures() async throws {
    try await FaultOrigin.running { origin in
      func entry(_ path: String, _ text: String, md5 of: String) throws -> String {
        origin.serve("/\(path)", Array(text.utf8))
        return #"{"page": "/\#(path)", "md5": "\#(try ContentDigests(of: Array(of.utf8)).md5)"}"#
      }
      let list = [
        try entry("pages/home.js", "// home", md5: "// home"), try entry("assets/right.png", "right", md5: "right"),
        try entry("assets/wrong.png", "bytes", md5: "read as text"),
      ]
      origin.serve(
        "/manifest.json", Array(#"{"filesMd5": [\#(list.joined(separator: ","))], "jsVersion": "e1"}"#.utf8))
      try await following(origin) { (host: ServingFixture) async throws in
        #expect(host.feed.readiness.isReady)
        #expect(host.feed.problem == nil)
        let manifest = try await host.manifest()
        #expect((manifest.release, manifest.bundles.map(\.path)) == ("e1", ["pages/home.js"]))
        #expect(manifest.files.map(\.path) == ["assets/right.png"])
        #expect(try await host.get("/bundles/pages/home.js").text == "// home")
        #expect(try await host.get("/bundles/assets/right.png").text == "right")
        #expect(try await host.get("/bundles/assets/wrong.png").status == 404)
      }
    }
  }

  @Test("an on-demand bundle is fetched on its first request")
  func onDemand() async throws {
    try await FaultOrigin.running { origin in
      try Self.publish(origin, ["home.js": "// home", "rare.js": "// rare"], demand: ["rare.js"])
      try await following(origin) { (host: ServingFixture) async throws in
        #expect(origin.requestCount(path: "/cdn/v1/rare.js") == 0)
        for _ in 0..<3 { #expect(try await host.get("/bundles/rare.js").text == "// rare") }
        #expect(origin.requestCount(path: "/cdn/v1/rare.js") == 1)
      }
    }
  }

  @Test("a signed webhook call polls the upstream")
  func webhook() async throws {
    try await FaultOrigin.running { origin in
      try Self.publish(origin, ["home.js": "// one"])
      try await following(origin) { (host: ServingFixture) async throws in
        try Self.publish(origin, ["home.js": "// two"], sequence: 2)
        let body = "{\"release\":\"r2\"}"
        let signature = try ServingFixture.signature(body)
        let answer = try await host.get("/hooks/release", ["X-Signature-256": signature], .post, body: body)
        #expect(answer.status == 202)
        try await host.waitForRelease("home.js", "// two")
        // A repeated call of another sender: the upstream reports no change.
        let asked = origin.requestCount(path: "/manifest.json")
        #expect(try await host.get("/hooks/release", ["X-Signature-256": signature], .post, body: body).status == 202)
        try await origin.waitForRequests(asked + 1, to: "/manifest.json")
        #expect(host.feed.history.count == 2)
        try await host.wait { _ in (try? host.count(Self.asked, ["outcome": "unchanged"])) == 1 }
        #expect(try host.count(Self.asked, ["outcome": "changed"]) == 2)
        #expect(try host.count("renderhost_releases_total") == 2)
      }
    }
  }

  @Test("a webhook call with a wrong signature is refused")
  func badSignature() async throws {
    try await FaultOrigin.running { origin in
      try Self.publish(origin, ["home.js": "// one"])
      try await following(origin) { (host: ServingFixture) async throws in
        let signature = try ServingFixture.signature("{}")
        #expect(try await host.get("/hooks/release", [:], .post, body: "{}").status == 401)
        #expect(try await host.get("/hooks/release", ["X-Signature-256": signature], .post, body: "{ }").status == 403)
        let large = String(repeating: " ", count: 70_000)
        #expect(
          try await host.get(
            "/hooks/release", ["X-Signature-256": try ServingFixture.signature(large)], .post, body: large
          )
          .status
            == 413)
        #expect(origin.requestCount(path: "/manifest.json") == 1)
      }
    }
  }
}
