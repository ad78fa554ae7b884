import HTTPTypes
import PageTesting
import Testing

@testable import HTTPTransport

struct ResourceRedirectTests {
  private func redirect(
    _ fixture: ResourceFixture, _ path: String, to location: String, status: Int = 302, _ fields: HTTPFields = [:]
  ) {
    fixture.origin.respond(path) { _ in
      var headers = fields
      headers[.location] = location
      return OriginResponse(status: .init(code: status), headers: headers, body: "moved".utf8)
    }
  }

  /// The same server by another name: another origin.
  private func foreign(_ fixture: ResourceFixture, _ path: String) -> String {
    fixture.origin.url(for: path).replacing("127.0.0.1", with: "localhost")
  }

  @Test func everyHopIsItsOwnDecision() async throws {
    try await ResourceFixture.running { fixture in
      redirect(fixture, "/a", to: "/b", status: 301, [.cacheControl: "max-age=60"])
      redirect(fixture, "/b", to: "/c")
      fixture.serve("/c", "text", etag: "\"1\"", cacheControl: "max-age=10")
      let first = try await fixture.load("/a")
      #expect((first.text, first.loaded.url) == ("text", try fixture.url("/c")))
      fixture.time.advance(30)
      #expect(try await fixture.load("/a").source == .revalidated)
      #expect(fixture.origin.requests.map(\.path) == ["/a", "/b", "/c", "/b", "/c"])
      #expect(fixture.asked.all == ["/a", "/b", "/c", "/b", "/c"].map { fixture.origin.url(for: $0) })
      try await fixture.waitUntilIdle()
    }
  }

  @Test func permissionIsAskedForEveryHopAndEndsTheWay() async throws {
    struct Forbidden: Error {}
    try await ResourceFixture.running { configuration, _ in
      configuration.permission = { if $0.text.hasSuffix("/b") { throw Forbidden() } }
    } _: { fixture in
      redirect(fixture, "/a", to: "/b")
      fixture.serve("/b", "text")
      await #expect(throws: Forbidden.self) { try await fixture.load("/a") }
      #expect(fixture.origin.requests.map(\.path) == ["/a"])
    }
  }

  @Test func credentialsDoNotLeaveTheOriginNotEvenOneHopLater() async throws {
    try await ResourceFixture.running { configuration, origin in
      let url = try #require(PageURL(origin.url(for: "/")))
      let token = try #require(HTTPField.Name("X-Token"))
      configuration.originFields = OriginFields([token: "t"], for: url)
    } _: { fixture in
      let token = try #require(HTTPField.Name("X-Token"))
      redirect(fixture, "/same", to: "/away")
      redirect(fixture, "/away", to: foreign(fixture, "/there"))
      redirect(fixture, "/there", to: "/further")
      redirect(fixture, "/further", to: fixture.origin.url(for: "/back"))
      fixture.serve("/back", "text")
      try await fixture.load("/same", fields: [.authorization: "Bearer 1", .cookie: "a=1", .acceptLanguage: "de"])
      let sent = fixture.origin.requests
      #expect(sent.map(\.path) == ["/same", "/away", "/there", "/further", "/back"])
      #expect(sent.map { $0.headers[.authorization] } == ["Bearer 1", "Bearer 1", nil, nil, nil])
      #expect(sent.map { $0.headers[.cookie] } == ["a=1", "a=1", nil, nil, nil])
      #expect(sent.map { $0.headers[token] } == ["t", "t", nil, nil, "t"])
      #expect(sent.allSatisfy { $0.headers[.acceptLanguage] == "de" })
    }
  }

  @Test(arguments: [
    (301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST"),
  ])
  func aPostTurnsIntoAGetWhereTheStatusSaysSo(_ status: Int, _ method: String) async throws {
    try await ResourceFixture.running { fixture in
      redirect(fixture, "/a", to: "/b", status: status)
      redirect(fixture, "/b", to: "/c", status: 307)
      fixture.origin.respond("/c") { _ in OriginResponse() }
      var request = fixture.request("/a", method: .post, fields: [.contentType: "text/plain"], body: "body")
      try await fixture.load(request)
      let last = try #require(fixture.origin.requests.last)
      #expect((last.method.rawValue, last.text) == (method, method == "GET" ? "" : "body"))
      #expect(last.headers[.contentType] == (method == "GET" ? nil : "text/plain"))
      // What is sent on is what the fields say.
      request.compressesBody = true
      try await fixture.load(request)
      let packed = try #require(fixture.origin.requests.last)
      #expect(packed.headers[.contentEncoding] == (method == "GET" ? nil : "gzip"))
      #expect((packed.body.first == 0x1f) == (method == "POST"))
    }
  }

  @Test func aPutIsRepeatedExceptAfterA303() async throws {
    try await ResourceFixture.running { fixture in
      fixture.origin.respond("/b") { _ in OriginResponse() }
      redirect(fixture, "/a", to: "/b", status: 302)
      try await fixture.load("/a", method: .put, body: "x")
      #expect(fixture.origin.requests.last?.method == .put)
      redirect(fixture, "/a", to: "/b", status: 303)
      try await fixture.load("/a", method: .put, body: "x")
      #expect(fixture.origin.requests.last?.method == .get)
      try await fixture.load("/a", method: .head)
      #expect(fixture.origin.requests.last?.method == .head)
    }
  }

  @Test func loopsAreRefused() async throws {
    try await ResourceFixture.running { fixture in
      redirect(fixture, "/a", to: "/b")
      redirect(fixture, "/b", to: "/a")
      redirect(fixture, "/self", to: "/self")
      redirect(fixture, "/file", to: "file:///etc/passwd")
      for number in 0..<12 { redirect(fixture, "/\(number)", to: "/\(number + 1)") }
      await #expect(throws: RedirectFault.loop(try fixture.url("/a"))) { try await fixture.load("/a") }
      await #expect(throws: RedirectFault.loop(try fixture.url("/self"))) { try await fixture.load("/self") }
      await #expect(throws: RedirectFault.self) { try await fixture.load("/file") }
      await #expect(throws: RedirectFault.tooMany(try fixture.url("/10"))) { try await fixture.load("/0") }
      try await fixture.waitUntilIdle()
    }
  }

  @Test func whereItIsNotWantedNoRedirectIsFollowed() async throws {
    try await ResourceFixture.running { fixture in
      redirect(fixture, "/a", to: "/b")
      var request = fixture.request("/a")
      request.followsRedirects = false
      let answer = try await fixture.load(request)
      #expect((answer.status, answer.text, answer.fields[.location]) == (302, "moved", "/b"))
      #expect(fixture.origin.requests.count == 1)
    }
  }

  @Test func parametersThatOnlyDefeatCachesAreSentAfterARedirectToo() async throws {
    try await ResourceFixture.running { fixture in
      redirect(fixture, "/a", to: "/b?random=1&c=2")
      fixture.serve("/b", "text", cacheControl: "max-age=60")
      try await fixture.load("/a")
      #expect(fixture.origin.requests.last?.path == "/b?random=1&c=2")
      #expect(try await fixture.load("/b?c=2").source.isCache)
    }
  }

  @Test func aRedirectThatComesSlowlyIsStoredWhenItIsFollowed() async throws {
    try await ResourceFixture.running { fixture in
      fixture.origin.respond("/a") { _ in
        OriginResponse(
          status: .movedPermanently, headers: [.location: "/b", .cacheControl: "max-age=60"],
          body: [UInt8](repeating: 7, count: 400))
      }
      fixture.origin.always("/a", .drip(bytesPerSecond: 2000))
      fixture.serve("/b", "text")
      try await fixture.load("/a")
      try await fixture.load("/a")
      #expect(fixture.origin.requests.map(\.path) == ["/a", "/b", "/b"])
    }
  }

  @Test func aRedirectWhoseBodyDoesNotEndHoldsNobodyUp() async throws {
    try await ResourceFixture.running { fixture in
      redirect(fixture, "/a", to: "/b", status: 301)
      fixture.origin.always("/a", .stall(afterBytes: 2))
      fixture.serve("/b", "text")
      #expect(try await fixture.load("/a").text == "text")
      try await fixture.waitUntilIdle()
    }
  }
}
