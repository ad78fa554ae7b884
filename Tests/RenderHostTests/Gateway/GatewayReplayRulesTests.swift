import HTTPTypes
import PageTesting
import Testing

@testable import CacheGateway
@testable import RenderHost

/// The rules for recording answers of the gateway, and for replaying them.
@Suite(.timeLimit(.minutes(2)))
struct GatewayReplayRulesTests {
  private static let kept: HTTPFields = [.cacheControl: "public, max-age=60"]

  /// An origin whose answers contain values of request fields, named in `Vary`.
  private func echo(_ fixture: GatewayFixture, _ path: String, _ names: [HTTPField.Name]) {
    fixture.origin.respond(path) { request in
      var fields = Self.kept
      fields[.vary] = names.map(\.rawName).joined(separator: ", ")
      return OriginResponse(headers: fields, body: (names.map { request.headers[$0] ?? "-" }.joined() + "~").utf8)
    }
  }

  @Test("each variant is replayed to its own requests")
  func variants() async throws {
    try await GatewayFixture.running { fixture in
      echo(fixture, "/a", [.acceptLanguage])
      let german = try RepeatingClient(fixture, "/a", ["Accept-Language: de"])
      let english = try RepeatingClient(fixture, "/a", ["Accept-Language: en"])
      for _ in 0..<3 {
        #expect(RepeatingClient.body(try await german.learn()) == "de~")
        #expect(RepeatingClient.body(try await english.learn()) == "en~")
      }
      #expect(fixture.origin.requestCount(path: "/a") == 2)
    }
  }

  @Test("a response that varies by the client's address is not replayed")
  func varyByAddress() async throws {
    try await GatewayFixture.running { fixture in
      let name = try #require(HTTPField.Name("X-Forwarded-For"))
      echo(fixture, "/a", [name])
      for _ in 0..<4 {
        for address in ["127.0.0.1", "127.0.0.2"] {
          let client = try RepeatingClient(fixture, "/a", from: address)
          for _ in 0..<2 { #expect(RepeatingClient.body(try await client.ask()) == address + "~") }
          #expect(!client.isKnown)
        }
      }
      #expect(fixture.origin.requestCount(path: "/a") == 2)
    }
  }

  @Test(
    "requests with caching directives are not recorded",
    arguments: [
      "Authorization: Bearer a", "Cache-Control: max-age=30", "Cache-Control: min-fresh=5", "Cache-Control: max-stale",
      "Cache-Control: only-if-cached", "Cache-Control: x", "Pragma: x", "X-Request-Id: mine",
    ])
  func requestDirectives(_ field: String) async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", Array("one~".utf8), headers: Self.kept)
      #expect(try await fixture.get("/a").body == "one~")
      let client = try RepeatingClient(fixture, "/a", [field])
      for _ in 0..<4 {
        #expect(RepeatingClient.body(try await client.ask()) == "one~")
        #expect(!client.isKnown)
      }
    }
  }

  @Test("a stale answer is not recorded")
  func staleAnswers() async throws {
    let clock = StandingClock()
    try await GatewayFixture.running(now: { clock.now }) { fixture in
      fixture.origin.serve(
        "/a", Array("one~".utf8), headers: [.cacheControl: "max-age=1, stale-while-revalidate=60"])
      let client = try RepeatingClient(fixture, "/a")
      try await client.learn()
      clock.advance(by: 1)
      fixture.origin.hold("/a")
      for _ in 0..<4 {
        #expect(RepeatingClient.body(try await client.ask()) == "one~")
        #expect(!client.isKnown)
      }
      fixture.origin.release("/a")
    }
  }

  @Test("answers to conditions and ranges are replayed")
  func conditionsAndRanges() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", Array("one and two~".utf8), etag: "\"1\"", headers: Self.kept)
      #expect(try await fixture.get("/a").body == "one and two~")
      let unchanged = try RepeatingClient(fixture, "/a", ["If-None-Match: \"1\""], hasBody: false)
      let part = try RepeatingClient(fixture, "/a", ["Range: bytes=8-"])
      for _ in 0..<3 {
        #expect(try await unchanged.learn().hasPrefix("HTTP/1.1 304 "))
        let answer = try await part.learn()
        #expect(answer.hasPrefix("HTTP/1.1 206 ") && RepeatingClient.body(answer) == "two~")
      }
      #expect(fixture.origin.requestCount(path: "/a") == 1)
    }
  }

  @Test("a replayed answer is counted like the first")
  func replayMetrics() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", Array("one~".utf8), headers: Self.kept)
      let client = try RepeatingClient(fixture, "/a")
      for _ in 0..<20 { _ = try await client.ask() }
      #expect(fixture.answers(.hit) == 19 && fixture.report.origins.first?.savedBytes == 19 * 4)
    }
  }
}
