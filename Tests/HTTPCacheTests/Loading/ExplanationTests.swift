import HTTPCaching
import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

@testable import HTTPCache

struct ExplanationTests {
  private func explained(
    _ fixture: ResourceFixture, _ path: String, _ behavior: LoadBehavior? = nil, method: HTTPRequest.Method = .get,
    fields: HTTPFields = [:]
  ) async throws -> Explanation {
    let before = fixture.origin.requests.count
    let found = try await fixture.loader.explain(fixture.request(path, behavior, method: method, fields: fields))
    #expect(fixture.origin.requests.count == before)
    #expect(fixture.origin.activeRequestCount == 0)
    return found
  }

  @Test func whatIsFreshIsServedAndTheAgesAreTold() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text", etag: "\"1\"", cacheControl: "max-age=60", headers: [.vary: "Accept-Language"])
      try await fixture.load("/a")
      fixture.time.advance(20)
      let found = try await explained(fixture, "/a?random=1")
      #expect(found.decision == .serve)
      #expect((found.rule, found.clause) == ("it is fresh", "RFC 9111 §4.2"))
      #expect((found.age, found.freshFor, found.staleFor) == (20, 40, nil))
      #expect((found.etag, found.lastModified, found.vary) == ("\"1\"", nil, ["accept-language"]))
      #expect((found.partition, found.isKept, found.behavior) == ("private", false, "automatic"))
      #expect(found.storedAt != nil)
      try await fixture.cache.keep(fixture.outgoing(fixture.request("/a")).key)
      #expect(try await explained(fixture, "/a").isKept)
    }
  }

  @Test func whatIsStaleIsAskedAbout() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text", etag: "\"1\"", cacheControl: "max-age=60, stale-while-revalidate=30")
      try await fixture.load("/a")
      fixture.time.advance(80)
      var found = try await explained(fixture, "/a")
      #expect((found.decision, found.clause) == (.serveStale, "RFC 5861 §3"))
      #expect((found.freshFor, found.staleFor) == (nil, 20))
      fixture.time.advance(80)
      found = try await explained(fixture, "/a")
      #expect((found.decision, found.rule, found.clause) == (.revalidate, "it is stale", "RFC 9111 §4.2"))
      found = try await explained(fixture, "/a", .cacheFirst)
      #expect((found.decision, found.rule, found.clause) == (.serve, "whatever is stored will do", nil))
      fixture.loader.reachability.setting = .offline
      #expect(try await explained(fixture, "/a").decision == .serve)
      #expect(try await explained(fixture, "/a", .protocolCache).decision == .revalidate)
    }
  }

  @Test func whatIsNotThereIsFetchedOrRefused() async throws {
    try await ResourceFixture.running { fixture in
      var found = try await explained(fixture, "/a")
      #expect((found.decision, found.clause, found.age, found.storedAt) == (.fetch, "RFC 9111 §4", nil, nil))
      found = try await explained(fixture, "/a", .cacheOnly)
      #expect((found.decision, found.rule) == (.refuse, "nothing is stored for the URL"))
      found = try await explained(fixture, "/a", method: .post)
      #expect((found.decision, found.rule) == (.fetch, ForwardReason.method.rawValue))
      found = try await explained(fixture, "/a", .networkOnly)
      #expect((found.decision, found.rule, found.clause) == (.fetch, ForwardReason.asked.rawValue, nil))
      found = try await explained(fixture, "/a", fields: [.cacheControl: "only-if-cached"])
      #expect(found.decision == .refuse)
      await #expect(throws: LoadError.self) { try await explained(fixture, "nonsense") }
    }
  }

  @Test func whatWasInvalidatedOrVariesIsNotCalledFresh() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text", etag: "\"1\"", cacheControl: "max-age=60", headers: [.vary: "Accept-Language"])
      try await fixture.load("/a", fields: [.acceptLanguage: "de"])
      var found = try await explained(fixture, "/a", fields: [.acceptLanguage: "en"])
      #expect((found.decision, found.clause) == (.fetch, "RFC 9111 §4.1"))
      await fixture.cache.invalidate([try fixture.outgoing(fixture.request("/a")).key])
      found = try await explained(fixture, "/a", fields: [.acceptLanguage: "de"])
      #expect((found.decision, found.clause) == (.revalidate, "RFC 9111 §4.4"))
      found = try await explained(fixture, "/a", .cacheFirst, fields: [.acceptLanguage: "de"])
      #expect((found.decision, found.rule) == (.serve, ServeReason.anyAge.rawValue))
    }
  }

  @Test func aPartIsCompleted() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", String(repeating: "x", count: 1000), etag: "\"1\"")
      try await fixture.load("/a", fields: [.range: "bytes=0-99"])
      let found = try await explained(fixture, "/a")
      #expect((found.decision, found.clause) == (.complete, "RFC 9111 §3.3"))
      #expect(try await explained(fixture, "/a", .cacheFirst, fields: [.range: "bytes=5-9"]).decision == .serve)
    }
  }

  @Test("a GET with a body is explained as it is answered: by the server, although its URL is stored and fresh")
  func getWithBody() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text", etag: "\"1\"", cacheControl: "max-age=60")
      try await fixture.load("/a")
      var request = fixture.request("/a")
      request.body = Array("query".utf8)
      let found = try await fixture.loader.explain(request)
      #expect((found.decision, found.rule) == (.fetch, ForwardReason.method.rawValue))
      let loaded = try await fixture.loader.response(for: request)
      _ = try await loaded.body.collect()
      #expect(loaded.source == .network)
      request.behavior = .cacheOnly
      #expect(try await fixture.loader.explain(request).decision == .refuse)
      await #expect(throws: LoadError.self) { try await fixture.loader.response(for: request) }
    }
  }
}
