import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

@testable import HTTPCache

struct BackgroundRefreshTests {
  /// Two ways to have a stale answer served and asked about behind it.
  struct Way: Sendable, CustomTestStringConvertible {
    let behavior: LoadBehavior
    let cacheControl: String
    var testDescription: String { "\(behavior.name), \(cacheControl)" }
  }

  static let ways = [
    Way(behavior: .staleWhileRevalidate, cacheControl: "max-age=10"),
    Way(behavior: .protocolCache, cacheControl: "max-age=10, stale-while-revalidate=100"),
    Way(behavior: .automatic, cacheControl: "max-age=10, stale-while-revalidate=100"),
  ]

  @Test(arguments: ways)
  func howeverManyReadOneRequestGoesOutWithTheFieldsOfWhoCausedIt(_ way: Way) async throws {
    try await ResourceFixture.running { fixture in
      let fields: HTTPFields = [.authorization: "Bearer 1", .acceptLanguage: "de"]
      fixture.serve("/a", "old", etag: "\"1\"", cacheControl: way.cacheControl)
      try await fixture.load("/a", way.behavior, fields: fields)
      fixture.time.advance(50)
      fixture.serve("/a", "new", etag: "\"2\"", cacheControl: way.cacheControl)
      fixture.origin.hold("/a")
      // Whoever did not read it to its end would lose it.
      fixture.origin.always("/a", .drip(bytesPerSecond: 50))
      for _ in 0..<20 {
        let answer = try await fixture.load("/a", way.behavior, fields: fields)
        #expect((answer.text, answer.source.isCache) == ("old", true))
      }
      try await fixture.origin.waitForRequests(2, to: "/a")
      fixture.origin.release("/a")
      try await fixture.waitUntilIdle()
      #expect(fixture.origin.requestCount(path: "/a") == 2)
      let sent = try #require(fixture.origin.requests.last?.headers)
      #expect((sent[.authorization], sent[.acceptLanguage], sent[.ifNoneMatch]) == ("Bearer 1", "de", "\"1\""))
      #expect(try await fixture.load("/a", way.behavior, fields: fields).text == "new")
    }
  }

  @Test func whatIsFreshIsNotAskedAboutUnlessItMustBe() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "text", etag: "\"1\"", cacheControl: "max-age=60")
      fixture.serve("/b", "text", etag: "\"1\"", cacheControl: "max-age=60, no-cache")
      for path in ["/a", "/b"] {
        try await fixture.load(path)
        try await fixture.load(path, .staleWhileRevalidate)
      }
      try await fixture.waitUntilIdle()
      #expect(fixture.origin.requests.map(\.path) == ["/a", "/b", "/b"])
    }
  }

  @Test func whatWasInvalidatedIsAskedAboutHoweverYoungItIs() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"", cacheControl: "max-age=60")
      try await fixture.load("/a")
      await fixture.cache.invalidate([try fixture.outgoing(fixture.request("/a")).key])
      fixture.serve("/a", "new", etag: "\"2\"", cacheControl: "max-age=60")
      #expect(try await fixture.load("/a", .staleWhileRevalidate).text == "old")
      try await fixture.waitUntilIdle()
      #expect(try await fixture.load("/a", .staleWhileRevalidate).text == "new")
    }
  }

  @Test func equalReferencesOfDifferentPagesAreDifferentWork() async throws {
    try await ResourceFixture.running { fixture in
      for page in ["x", "y"] {
        fixture.serve("/\(page)/data.json", "old", etag: "\"1\"")
        try await fixture.load("/\(page)/data.json")
        fixture.serve("/\(page)/data.json", "new", etag: "\"2\"")
        fixture.origin.hold("/\(page)/data.json")
      }
      for page in ["x", "y"] {
        try await fixture.load(
          ResourceRequest("data.json", base: try fixture.url("/\(page)/home.js"), behavior: .staleWhileRevalidate))
      }
      try await fixture.origin.waitForRequests(4)
      for page in ["x", "y"] { fixture.origin.release("/\(page)/data.json") }
      try await fixture.waitUntilIdle()
      #expect(try await fixture.stored("/x/data.json") == "new")
      #expect(try await fixture.stored("/y/data.json") == "new")
    }
  }

  @Test func aRefreshThatFailsHarmsNothing() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"", cacheControl: "max-age=10")
      try await fixture.load("/a")
      fixture.time.advance(50)
      for fault in [Fault.status(500), .status(404), .resetAfter(bytes: 1), .closeBeforeHead, .garbage] {
        fixture.serve("/a", "other", etag: "\"2\"", cacheControl: "max-age=10")
        fixture.origin.always("/a", fault)
        #expect(try await fixture.load("/a", .staleWhileRevalidate).text == "old")
        try await fixture.waitUntilIdle()
      }
      #expect(fixture.origin.requestCount(path: "/a") >= 6)
    }
  }

  @Test func whatMayNoLongerBeStoredIsNotReadToItsEnd() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"", cacheControl: "max-age=10")
      try await fixture.load("/a")
      fixture.time.advance(50)
      fixture.serve("/a", String(repeating: "x", count: 10_000), etag: "\"2\"", cacheControl: "no-store")
      fixture.origin.always("/a", .stall(afterBytes: 10))
      #expect(try await fixture.load("/a", .staleWhileRevalidate).text == "old")
      try await fixture.waitUntilIdle()
      try await eventually("the transfer has ended", within: .seconds(10)) { fixture.origin.activeRequestCount == 0 }
    }
  }
}
