import CurlTransport
import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

struct ResourceCookieTests {
  private func running(_ body: (ResourceFixture) async throws -> Void) async throws {
    try await ResourceFixture.running(.init(cookies: try CookieJar()), body)
  }

  private func set(_ fixture: ResourceFixture, _ cookie: String, at path: String, _ fields: HTTPFields = [:]) {
    fixture.origin.respond(path) { request in
      var headers = fields
      headers[.setCookie] = cookie
      return OriginResponse(headers: headers, body: (request.headers[.cookie] ?? "none").utf8)
    }
  }

  @Test func cookiesAreTakenInAndSent() async throws {
    try await running { fixture in
      set(fixture, "user=ann", at: "/login")
      #expect(try await fixture.load("/login").text == "none")
      #expect(try await fixture.load("/login").text == "user=ann")
      set(fixture, "user=bob", at: "/switch")
      try await fixture.load("/switch", method: .post)
      #expect(try await fixture.load("/login").text == "user=bob")
    }
  }

  @Test func varyOnCookiesSeesThoseOfTheJar() async throws {
    try await running { fixture in
      fixture.origin.respond("/page") { request in
        OriginResponse(
          headers: [.cacheControl: "max-age=60", .vary: "Cookie"],
          body: "for \(request.headers[.cookie] ?? "nobody")".utf8)
      }
      set(fixture, "user=ann", at: "/ann")
      set(fixture, "user=bob", at: "/bob")
      #expect(try await fixture.load("/page").text == "for nobody")
      #expect(try await fixture.load("/page").source.isCache)
      try await fixture.load("/ann")
      #expect(try await fixture.load("/page").text == "for user=ann")
      try await fixture.load("/bob")
      #expect(try await fixture.load("/page").text == "for user=bob")
      try await fixture.load("/ann")
      let again = try await fixture.load("/page")
      #expect((again.text, again.source.isCache) == ("for user=ann", true))
    }
  }

  @Test func aCookieOfARedirectIsSentToItsTarget() async throws {
    try await running { fixture in
      set(fixture, "user=ann", at: "/target")
      fixture.origin.respond("/login") { _ in
        OriginResponse(status: .found, headers: [.setCookie: "session=1", .location: "/target"])
      }
      #expect(try await fixture.load("/login").text == "session=1")
      try await fixture.waitUntilIdle()
    }
  }

  @Test func aRequestsOwnCookiesAreSentInPlaceOfTheJars() async throws {
    try await running { fixture in
      set(fixture, "user=ann", at: "/a")
      try await fixture.load("/a")
      #expect(try await fixture.load("/a", fields: [.cookie: "mine=1"]).text == "mine=1")
    }
  }

  @Test func anAnswerFromTheCacheBringsNoCookieBack() async throws {
    try await running { fixture in
      set(fixture, "user=ann", at: "/a", [.cacheControl: "max-age=60"])
      set(fixture, "user=bob", at: "/b")
      try await fixture.load("/a")
      try await fixture.load("/b")
      #expect(try await fixture.load("/a").source.isCache)
      #expect(try await fixture.load("/b").text == "user=bob")
    }
  }
}
