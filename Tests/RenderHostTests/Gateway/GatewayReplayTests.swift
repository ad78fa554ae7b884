import HTTPTypes
import PageTesting
import Synchronization
import Testing

@testable import CacheGateway
@testable import RenderHost

/// Replays of the gateway's listener, and their ends.
@Suite(.timeLimit(.minutes(2)))
struct GatewayReplayTests {
  private static let kept: HTTPFields = [.cacheControl: "max-age=60"]
  private let clock = StandingClock()

  private func running(_ body: (GatewayFixture) async throws -> Void) async throws {
    try await GatewayFixture.running(now: { [clock] in clock.now }, body)
  }

  /// An origin that numbers its answers.
  private func count(_ fixture: GatewayFixture, _ path: String, _ fields: HTTPFields = kept) {
    let number = Counter()
    fixture.origin.respond(path) { request in
      OriginResponse(headers: fields, body: "\(request.method) \(number.next())~".utf8)
    }
  }

  private final class Counter: Sendable {
    private let value = Atomic<Int>(0)
    func next() -> Int { value.add(1, ordering: .relaxed).newValue }
  }

  @Test("a replayed answer has its current Age and an id of its own")
  func replayedFields() async throws {
    try await running { fixture in
      count(fixture, "/a")
      let client = try RepeatingClient(fixture, "/a")
      let first = try await client.learn()
      clock.advance(by: 7)
      let second = try await client.ask()
      #expect(RepeatingClient.body(first) == "GET 1~" && RepeatingClient.body(second) == "GET 1~")
      #expect(RepeatingClient.field("age", of: first) == "0" && RepeatingClient.field("age", of: second) == "7")
      #expect(RepeatingClient.field("cache-status", of: first)?.hasSuffix("; hit; ttl=60") == true)
      #expect(RepeatingClient.field("cache-status", of: second)?.hasSuffix("; hit; ttl=53") == true)
      #expect(RepeatingClient.field("date", of: first) == RepeatingClient.field("date", of: second))
      #expect(RepeatingClient.field("x-request-id", of: first) != RepeatingClient.field("x-request-id", of: second))
    }
  }

  @Test("a stale answer is not replayed")
  func staleReplay() async throws {
    try await running { fixture in
      count(fixture, "/a")
      let client = try RepeatingClient(fixture, "/a")
      try await client.learn()
      clock.advance(by: 59)
      #expect(RepeatingClient.body(try await client.ask()) == "GET 1~")
      clock.advance(by: 1)
      #expect(!client.isKnown)
      #expect(RepeatingClient.body(try await client.ask()) == "GET 2~")
    }
  }

  @Test("a clock that was set back does not lower the Age")
  func clockSetBack() async throws {
    try await running { fixture in
      count(fixture, "/a")
      let client = try RepeatingClient(fixture, "/a")
      try await client.learn()
      clock.advance(by: -5)
      #expect(!client.isKnown)
      #expect(RepeatingClient.field("age", of: try await client.ask()) == "0")
    }
  }

  @Test("an answer is not replayed after a POST to its URL")
  func replayAfterPost() async throws {
    try await running { fixture in
      count(fixture, "/a")
      let client = try RepeatingClient(fixture, "/a")
      try await client.learn()
      #expect(try await fixture.get("/a", method: "POST", body: "x").body == "POST 2~")
      #expect(!client.isKnown)
      #expect(RepeatingClient.body(try await client.ask()) == "GET 3~")
    }
  }

  @Test("a removed answer is not replayed")
  func replayAfterRemoval() async throws {
    try await running { fixture in
      count(fixture, "/a")
      count(fixture, "/b")
      let clients = [try RepeatingClient(fixture, "/a"), try RepeatingClient(fixture, "/b")]
      for client in clients { try await client.learn() }
      try await fixture.gateway.origins[0].loader.cache.removeAll()
      for client in clients {
        #expect(!client.isKnown)
        #expect(RepeatingClient.body(try await client.ask()) == "GET 2~")
      }
    }
  }

  @Test("an answer that another process removed is not replayed")
  func replayAfterOtherProcess() async throws {
    try await running { fixture in
      count(fixture, "/a")
      let client = try RepeatingClient(fixture, "/a")
      try await client.learn()
      try await fixture.otherCache().removeAll()
      let deadline = ContinuousClock.now + .seconds(20)
      while ContinuousClock.now < deadline, RepeatingClient.body(try await client.ask()) == "GET 1~" {}
      #expect(fixture.origin.requestCount(path: "/a") == 2)
    }
  }

  @Test("a replaced answer is not replayed")
  func replayAfterReplacement() async throws {
    try await running { fixture in
      count(fixture, "/a")
      let client = try RepeatingClient(fixture, "/a")
      try await client.learn()
      #expect(try await fixture.get("/a", ["Cache-Control: no-cache"]).body == "GET 2~")
      #expect(RepeatingClient.body(try await client.ask()) == "GET 2~")
    }
  }

  @Test("an answer whose fields a 304 changed is not replayed")
  func replayAfterConfirmation() async throws {
    try await running { fixture in
      let lifetime = Counter()
      fixture.origin.respond("/a") { request in
        let fields: HTTPFields = [.eTag: "\"1\"", .cacheControl: "max-age=\(lifetime.next() * 100)"]
        return request.headers.contains(.ifNoneMatch)
          ? OriginResponse(status: .notModified, headers: fields) : OriginResponse(headers: fields, body: "one~".utf8)
      }
      let client = try RepeatingClient(fixture, "/a")
      try await client.learn()
      _ = try await fixture.get("/a", ["Cache-Control: max-age=0"])
      clock.advance(by: 1)
      _ = try await fixture.get("/a", ["Cache-Control: max-age=0"])
      let answer = try await client.ask()
      #expect(RepeatingClient.field("cache-control", of: answer) != "max-age=100")
      #expect(RepeatingClient.field("age", of: answer) == "0")
    }
  }
}
