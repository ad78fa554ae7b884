import HTTPCaching
import HTTPTransport
import HTTPTypes
import PageTesting
import Synchronization
import Testing

@testable import HTTPCache

/// Stored responses answer only from a time on if purges may have been missed before.
@Suite(.timeLimit(.minutes(1)))
struct StoredUseTests {
  /// Stores a response that is fresh for a minute, then limits the use of what is stored by then, and 10 seconds later
  /// calls the body.
  private func limited(
    _ control: String = "max-age=60", etag: String? = "\"1\"", mayFallBack: Bool = true,
    mode: CachePolicy.Mode = .private, then body: (ResourceFixture, Limit) async throws -> Void
  ) async throws {
    let limit = Limit()
    var options = ResourceFixture.Options()
    options.mode = mode
    options.configure = { configuration, _ in configuration.storedUse = { _ in limit.use.withLock { $0 } } }
    try await ResourceFixture.running(options) { fixture in
      fixture.serve("/a", "old", etag: etag, cacheControl: control)
      try await fixture.load("/a", .protocolCache)
      fixture.time.advance(10)
      let now = fixture.time.date
      limit.use.withLock { $0 = StoredUse(answersSince: now, fallsBackSince: mayFallBack ? nil : now) }
      try await body(fixture, limit)
      try await fixture.waitUntilIdle()
    }
  }

  final class Limit: Sendable {
    let use = Mutex(StoredUse.unlimited)
  }

  @Test("a response from before the time is validated once before it answers")
  func validation() async throws {
    try await limited { (fixture: ResourceFixture, _: Limit) async throws in
      let answer = try await fixture.load("/a", .protocolCache)
      #expect((answer.text, answer.source) == ("old", .revalidated))
      try await fixture.load("/a", .protocolCache)
      #expect(fixture.origin.requestCount(path: "/a") == 2)
    }
  }

  @Test("a response from before the time without a validator is fetched again, also with stale-while-revalidate")
  func fetching() async throws {
    try await limited("max-age=5, stale-while-revalidate=60", etag: nil) {
      (fixture: ResourceFixture, _: Limit) async throws in
      fixture.serve("/a", "new", cacheControl: "max-age=60")
      let answer = try await fixture.load("/a", .protocolCache)
      #expect(answer.text == "new")
    }
  }

  @Test("a request that the origin is not to be asked for gets 504")
  func onlyIfCached() async throws {
    try await limited { (fixture: ResourceFixture, _: Limit) async throws in
      let answer = try await fixture.load("/a", .protocolCache, fields: [.cacheControl: "only-if-cached"])
      #expect(answer.status == 504)
    }
  }

  @Test("behaviours that take whatever is stored do not take what is older either")
  func anyAge() async throws {
    try await limited { (fixture: ResourceFixture, _: Limit) async throws in
      fixture.serve("/a", "new", etag: "\"2\"", cacheControl: "max-age=60")
      let answer = try await fixture.load("/a", .returnCacheDataElseLoad)
      #expect(answer.text == "new")
    }
  }

  @Test("if the origin is away, what would be fresh answers as stale; a limit to that is kept")
  func originAway() async throws {
    try await limited("max-age=60, must-revalidate") { (fixture: ResourceFixture, _: Limit) async throws in
      try await fixture.origin.refuseConnections()
      let answer = try await fixture.load("/a", .protocolCache)
      let status = try #require(answer.loaded.cacheStatus)
      #expect(answer.text == "old" && status.detail == "cut-off" && status.timeToLive == 0)
      // Beyond its lifetime it needs the origin.
      fixture.time.advance(60)
      await #expect(throws: (any Error).self) { try await fixture.load("/a", .protocolCache) }
    }
    try await limited(mayFallBack: false) { (fixture: ResourceFixture, _: Limit) async throws in
      try await fixture.origin.refuseConnections()
      await #expect(throws: (any Error).self) { try await fixture.load("/a", .protocolCache) }
    }
  }

  @Test("an error of the origin is not replaced by what must not be fallen back on", arguments: [true, false])
  func serverError(_ mayFallBack: Bool) async throws {
    try await limited("max-age=60, stale-if-error=60", mayFallBack: mayFallBack) {
      (fixture: ResourceFixture, _: Limit) async throws in
      fixture.origin.respond("/a") { _ in OriginResponse(status: .serviceUnavailable) }
      let answer = try await fixture.load("/a", .protocolCache)
      #expect(answer.status == (mayFallBack ? 200 : 503))
      let head = try await fixture.load("/a", .protocolCache, method: .head)
      #expect(head.status == (mayFallBack ? 200 : 503))
    }
  }

  @Test("a response is shared only with requests that it is young enough for")
  func sharing() async throws {
    try await limited(mode: .shared) { (fixture: ResourceFixture, limit: Limit) async throws in
      let gate = Monitor(false)
      fixture.origin.respond("/b") { _ in
        try? await gate.wait(within: .seconds(30)) { $0 }
        return OriginResponse(status: .ok, headers: [.cacheControl: "max-age=60"], body: Array("b".utf8))
      }
      async let first = fixture.load("/b", .protocolCache)
      try await eventually("it is asked for") { fixture.origin.requestCount(path: "/b") == 1 }
      fixture.time.advance(10)
      limit.use.withLock { $0 = StoredUse(answersSince: fixture.time.date) }
      async let second = fixture.load("/b", .protocolCache)
      // It does not know yet when the first one's response was made.
      try await fixture.waitForPassengers(2, fixture.request("/b", .protocolCache))
      gate.change { $0 = true }
      let texts = try await [first.text, second.text]
      #expect(texts == ["b", "b"])
      #expect(fixture.origin.requestCount(path: "/b") == 2)
    }
  }
}
