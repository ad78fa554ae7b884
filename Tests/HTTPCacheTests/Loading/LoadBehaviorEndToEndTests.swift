import HTTPTransport
import PageTesting
import Testing

@testable import HTTPCache

/// The answers of each behaviour with the origin there, and gone.
struct LoadBehaviorEndToEndTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    /// With a stale answer stored; nil for an error.
    let up: String?
    let gone: String?
    /// With nothing stored, and the origin there.
    let first: String?

    init(_ name: String, up: String?, gone: String?, first: String? = "new") {
      self.name = name
      self.up = up
      self.gone = gone
      self.first = first
    }

    var testDescription: String { name }
  }

  static let rows: [Row] = [
    Row("automatic", up: "new", gone: "old"), Row("picture", up: "new", gone: "old"),
    Row("protocolCache", up: "new", gone: "old"),
    Row("cacheFirst", up: "old", gone: "old"), Row("networkFirst", up: "new", gone: "old"),
    Row("cacheThenNetwork", up: "old", gone: "old"), Row("staleWhileRevalidate", up: "old", gone: "old"),
    Row("networkOnly", up: "new", gone: nil), Row("cacheOnly", up: "old", gone: "old", first: nil),
    Row("useProtocolCachePolicy", up: "new", gone: "old"), Row("reloadIgnoringLocalCacheData", up: "new", gone: nil),
    Row("reloadIgnoringLocalAndRemoteCacheData", up: "new", gone: nil),
    Row("reloadIgnoringCacheData", up: "new", gone: nil), Row("returnCacheDataElseLoad", up: "old", gone: "old"),
    Row("returnCacheDataDontLoad", up: "old", gone: "old", first: nil),
    Row("reloadRevalidatingCacheData", up: "new", gone: nil),
  ]

  /// Nil for an error.
  private func text(_ fixture: ResourceFixture, _ path: String, _ behavior: LoadBehavior) async -> String? {
    try? await fixture.load(path, behavior).text
  }

  @Test(arguments: rows)
  func everyBehaviourAnswersAsTheTableSays(_ row: Row) async throws {
    #expect(Self.rows.map(\.name) == LoadBehavior.named.map(\.name))
    var behavior = try #require(LoadBehavior(named: row.name))
    // However busy this computer is, the origin is there in time.
    if behavior.patience != nil { behavior.patience = .seconds(60) }
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"", cacheControl: "max-age=60")
      try await fixture.load("/a", .networkOnly)
      fixture.time.advance(120)
      fixture.serve("/a", "new", etag: "\"2\"", cacheControl: "max-age=60")
      fixture.serve("/b", "new")
      #expect(await text(fixture, "/b", behavior) == row.first)
      #expect(await text(fixture, "/a", behavior) == row.up)
      try await fixture.waitUntilIdle()
      let hasChanged = row.up == "new" || behavior.refresh != .never
      #expect(try await fixture.stored("/a") == (hasChanged ? "new" : "old"))
    }
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"", cacheControl: "max-age=60")
      try await fixture.load("/a", .networkOnly)
      fixture.time.advance(120)
      try await fixture.origin.refuseConnections()
      #expect(await text(fixture, "/a", behavior) == row.gone)
      #expect(await text(fixture, "/b", behavior) == nil)
      try await fixture.waitUntilIdle()
      #expect(try await fixture.stored("/a") == "old")
    }
  }

  @Test func networkFirstGivesWhatIsStoredAfterItsTimeoutAndKeepsTheLateAnswer() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"")
      try await fixture.load("/a")
      fixture.serve("/a", "new", etag: "\"2\"")
      fixture.origin.hold("/a")
      let answer = try await fixture.load("/a", .networkFirst(timeout: .milliseconds(30)))
      #expect(answer.text == "old")
      #expect(answer.source.isCache)
      #expect(answer.loaded.cacheStatus?.detail == "timeout")
      // It goes on, also after others have come and gone.
      for _ in 0..<10 { try await fixture.load("/other", .networkOnly) }
      #expect(fixture.origin.activeRequestCount == 1)
      fixture.origin.release("/a")
      try await fixture.waitUntilIdle()
      #expect(try await fixture.stored("/a") == "new")
      #expect(fixture.origin.requestCount(path: "/a") == 2)
      #expect(try await fixture.load("/a", .cacheOnly).text == "new")
    }
  }

  @Test func networkFirstWithNothingStoredWaitsBeyondItsTimeoutAndHeedsCancellation() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "new")
      fixture.origin.hold("/a")
      let request = fixture.request("/a", .networkFirst(timeout: .milliseconds(1)))
      let first = Task { try await fixture.load(request).text }
      try await fixture.origin.waitForRequests(1, to: "/a")
      fixture.origin.release("/a")
      #expect(try await first.value == "new")

      fixture.origin.hold("/b")
      let second = Task { try await fixture.load("/b", .networkFirst(timeout: .milliseconds(1))).text }
      try await fixture.origin.waitForRequests(1, to: "/b")
      // Its time is up once that of a later request is, which has something stored.
      fixture.serve("/c", "old", etag: "\"1\"")
      try await fixture.load("/c", .networkOnly)
      fixture.origin.hold("/c")
      #expect(try await fixture.load("/c", .networkFirst(timeout: .milliseconds(1))).text == "old")
      fixture.origin.release("/c")
      second.cancel()
      await #expect(throws: CancellationError.self) { try await second.value }
      try await eventually("the request is given up", within: .seconds(10)) { fixture.origin.activeRequestCount == 0 }
      try await fixture.waitUntilIdle()
    }
  }

  @Test func anHTTPErrorIsAnAnswerAndTheGoodOneStays() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "good", etag: "\"1\"")
      try await fixture.load("/a")
      fixture.origin.always("/a", .status(503, body: "busy"))
      let answer = try await fixture.load("/a")
      #expect((answer.status, answer.text) == (503, "busy"))
      fixture.origin.always("/a", .status(404))
      #expect(try await fixture.load("/a", .networkFirst(timeout: .seconds(60))).status == 404)
      #expect(try await fixture.stored("/a") == "good")
    }
  }

  @Test func whereTheServerAllowsItAStaleAnswerStandsForItsErrors() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "good", etag: "\"1\"", cacheControl: "max-age=10, stale-if-error=100")
      try await fixture.load("/a")
      fixture.origin.always("/a", .status(503, body: "busy"))
      fixture.time.advance(60)
      #expect(try await fixture.load("/a").text == "good")
      #expect(try await fixture.load("/a", .reloadRevalidatingCacheData).status == 503)
      fixture.time.advance(60)
      #expect(try await fixture.load("/a").status == 503)
    }
  }
}
