import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

@testable import CacheGateway
@testable import RenderHost
@testable import ServerKit

/// The gateway's answers after a purge, as clients see them.
@Suite(.timeLimit(.minutes(2)))
struct PurgeTests {
  private static func fields(_ control: String = "max-age=60", tags: String = "") -> HTTPFields {
    var fields: HTTPFields = [.cacheControl: control]
    if let name = HTTPField.Name("Surrogate-Key"), !tags.isEmpty { fields[name] = tags }
    return fields
  }

  /// The stored paths that are requested from the origin again after a purge.
  private static func askedAgain(
    _ paths: [String], after order: PurgeOrder, in fixture: GatewayFixture
  ) async throws -> [String] {
    for path in paths { _ = try await fixture.get(path) }
    #expect(fixture.origin.requests.count == paths.count)
    let count = try await fixture.purge(order)
    var asked: [String] = []
    for path in paths {
      let before = fixture.origin.requests.count
      let answer = try await fixture.get(path)
      #expect(answer.status == 200)
      if fixture.origin.requests.count > before { asked.append(path) }
    }
    #expect(count == asked.count)
    return asked
  }

  @Test(
    "purged responses are requested again, and no others",
    arguments: [
      (PurgeOrder.Selection.url("/news/1?page=2"), ["/news/1?page=2"]), (.url("/news/1"), ["/news/1"]),
      (.url("/news/%31"), ["/news/1"]), (.url("/none"), []), (.prefix("/news/1"), ["/news/1", "/news/1?page=2"]),
      (.prefix("/n"), ["/news/1", "/news/1?page=2", "/news/2"]), (.prefix("/news/."), []), (.prefix("/news/%2"), []),
      (.tags(["even"]), ["/news/2"]), (.tags(["even", "news"]), ["/news/1", "/news/1?page=2", "/news/2"]),
      (.tags(["none"]), []), (.all, ["/news/1", "/news/1?page=2", "/news/2", "/other"]),
    ])
  func purgedResponses(_ selection: PurgeOrder.Selection, _ expected: [String]) async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/news/1", [65], headers: Self.fields(tags: "news odd"))
      fixture.origin.serve("/news/2", [65], headers: Self.fields(tags: "news even"))
      fixture.origin.serve("/other", [65], headers: Self.fields())
      let paths = ["/news/1", "/news/1?page=2", "/news/2", "/other"]
      let asked = try await Self.askedAgain(paths, after: PurgeOrder(selection), in: fixture)
      #expect(asked == expected)
    }
  }

  @Test("a response with more tags than are kept passes, is not stored, and says so")
  func tooManyTags() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", [65], headers: Self.fields(tags: (0..<300).map { "t\($0)" }.joined(separator: " ")))
      for _ in 0..<2 {
        let answer = try await fixture.get("/a")
        #expect(answer.status == 200 && answer["cache-status"] == "PageKit; fwd=uri-miss; detail=tags")
      }
      #expect(fixture.origin.requests.count == 2)
      #expect(try await fixture.purge(PurgeOrder(.tags(["t299"]))) == 0)
    }
  }

  @Test("an absolute URL selects the origin of its host")
  func absoluteURL() async throws {
    try await GatewayFixture.running { settings in
      settings.gateway.origins[0].hosts = ["*.example.com"]
    } _: { fixture in
      fixture.origin.serve("/a", [65], headers: Self.fields())
      for url in [fixture.origin.url(for: "/a"), "https://api.example.com/a"] {
        _ = try await fixture.get("/a")
        #expect(try await fixture.purge(PurgeOrder(.url(url))) == 1)
        _ = try await fixture.get("/a")
        #expect(try await fixture.purge(PurgeOrder(.prefix(String(url.dropLast())))) == 1)
      }
      for url in ["http://example.com/a", "https://api.example.org/", "http://127.0.0.1:1/a", "a", "", "http://x?a"] {
        await #expect(throws: PurgeError.self) { try await fixture.purge(PurgeOrder(.url(url))) }
        await #expect(throws: PurgeError.self) { try await fixture.purge(PurgeOrder(.prefix(url))) }
      }
    }
  }

  @Test("a softly purged response is served while it is revalidated")
  func softPurge() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", Array("old".utf8), headers: Self.fields("max-age=60, stale-while-revalidate=60"))
      fixture.origin.serve("/b", Array("old".utf8), headers: Self.fields())
      for path in ["/a", "/b"] { _ = try await fixture.get(path) }
      #expect(try await fixture.purge(PurgeOrder(.all, isSoft: true)) == 2)
      for path in ["/a", "/b"] { fixture.origin.serve(path, Array("new".utf8), headers: Self.fields()) }
      #expect(try await fixture.get("/a").body == "old")
      #expect(try await fixture.get("/b").body == "new")
      try await eventually("the new one has come") { try await fixture.get("/a").body == "new" }
    }
  }

  @Test("a softly purged response replaces an error of the origin")
  func softPurgeOnError() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", [65], etag: "\"1\"", headers: Self.fields("max-age=60, stale-if-error=60"))
      _ = try await fixture.get("/a")
      #expect(try await fixture.purge(PurgeOrder(.url("/a"), isSoft: true)) == 1)
      fixture.origin.always("/a", .status(503, body: "busy"))
      #expect(try await fixture.get("/a").status == 200)
      #expect(try await fixture.purge(PurgeOrder(.url("/a"))) == 1)
      #expect(try await fixture.get("/a").status == 503)
    }
  }

  @Test("a response requested before a purge does not answer later requests")
  func purgeInFlight() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", Array("old".utf8), headers: Self.fields(tags: "t"))
      fixture.origin.hold("/a")
      let before = Task { try await fixture.get("/a").body }
      try await fixture.origin.waitForRequests(1, to: "/a")
      _ = try await fixture.purge(PurgeOrder(.tags(["t"])))
      let after = Task { try await fixture.get("/a").body }
      try await fixture.origin.waitForRequests(2, to: "/a")
      fixture.origin.release("/a")
      #expect(try await (before.value, after.value) == ("old", "old"))
      #expect(try await fixture.get("/a")["cache-status"]?.contains("hit") == true)
    }
  }

  @Test("purges are counted")
  func counts() async throws {
    try await GatewayFixture.running { fixture in
      for path in ["/a", "/b"] { fixture.origin.serve(path, [65], headers: Self.fields(tags: "t")) }
      for path in ["/a", "/b"] { _ = try await fixture.get(path) }
      _ = try await fixture.purge(PurgeOrder(.tags(["t"]), isSoft: true))
      _ = try await fixture.purge(PurgeOrder(.url("/a")))
      let text = fixture.purge.metrics.registry.text(.prometheus)
      #expect(text.contains(#"renderhost_gateway_purged_total{how="soft",kind="tag"} 2"#))
      #expect(text.contains(#"renderhost_gateway_purged_total{how="hard",kind="url"} 1"#))
    }
  }
}
