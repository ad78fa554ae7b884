import HTTPCache
import HTTPTypes
import PageTesting
import Synchronization
import TestServers
import Testing

@testable import CacheGateway
@testable import RenderHost

@Suite(.timeLimit(.minutes(2)))
struct GatewayTests {
  private static let kept: HTTPFields = [.cacheControl: "max-age=60"]

  /// RFC 9211 §2.2.
  @Test("the answer to only-if-cached without a stored response says that nothing was forwarded")
  func onlyIfCached() async throws {
    try await GatewayFixture.running { fixture in
      let answer = try await fixture.get("/a", ["Cache-Control: only-if-cached"])
      #expect(answer.status == 504 && answer["cache-status"] == "PageKit; detail=only-if-cached")
      #expect(fixture.origin.requests.isEmpty)
    }
  }

  @Test("a cacheable response is requested once")
  func cacheableResponses() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/list", Array("[1,2]".utf8), contentType: "application/json", headers: Self.kept)
      for number in 0..<3 {
        let answer = try await fixture.get("/list")
        #expect(answer.status == 200 && answer.body == "[1,2]" && answer["content-length"] == "5")
        #expect(answer["cache-status"]?.contains(number == 0 ? "fwd=uri-miss" : "hit") == true)
        #expect(answer["via"] == "1.1 renderhost")
        #expect((answer["age"] != nil) == (number > 0))
      }
      #expect(fixture.origin.requestCount(path: "/list") == 1)
    }
  }

  @Test("a cookie goes only to the client that it was set for", arguments: [nil, "max-age=60", "public, s-maxage=60"])
  func cookiesOfClients(_ control: String?) async throws {
    try await GatewayFixture.running { fixture in
      Self.setCookies(fixture, control)
      for number in 1...3 {
        let answer = try await fixture.get("/login")
        #expect(answer["set-cookie"] == "session=\(number)" && answer.body == "\(number)")
      }
      #expect(fixture.origin.requestCount(path: "/login") == 3)
    }
  }

  @Test("a response that names Set-Cookie in no-cache is stored without it")
  func namedCookie() async throws {
    try await GatewayFixture.running { fixture in
      Self.setCookies(fixture, "no-cache=\"set-cookie\", max-age=60")
      let answers = [try await fixture.get("/login"), try await fixture.get("/login")]
      #expect(answers.map(\.body) == ["1", "1"])
      #expect(answers.map { $0["set-cookie"] } == ["session=1", nil])
    }
  }

  @Test("a rule may permit storing responses with Set-Cookie")
  func sharedCookies() async throws {
    try await GatewayFixture.running { settings in
      var rule = ResourceRule(.glob("/log*"))
      rule.sharesCookies = true
      settings.gateway.origins[0].rules = [rule]
    } _: { fixture in
      Self.setCookies(fixture, "max-age=60")
      let answers = [try await fixture.get("/login"), try await fixture.get("/login")]
      #expect(answers.map { $0["set-cookie"] } == ["session=1", "session=1"])
      #expect(fixture.origin.requestCount(path: "/login") == 1)
    }
  }

  @Test("a cookie in a 304 is not stored")
  func cookieOf304() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.respond("/news") { request in
        let fields: HTTPFields = [.eTag: "\"1\"", .cacheControl: "max-age=0, must-revalidate"]
        guard request.headers[.ifNoneMatch] != nil else { return OriginResponse(headers: fields, body: "news".utf8) }
        var more = fields
        more[.setCookie] = "session=2"
        return OriginResponse(status: .notModified, headers: more)
      }
      for _ in 0..<3 {
        let answer = try await fixture.get("/news")
        #expect(answer.body == "news" && answer["set-cookie"] == nil)
      }
    }
  }

  /// An origin that numbers its answers, and sets a cookie with each one.
  private static func setCookies(_ fixture: GatewayFixture, _ control: String?) {
    let count = Mutex(0)
    fixture.origin.respond("/login") { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      var fields: HTTPFields = [.setCookie: "session=\(number)"]
      fields[.cacheControl] = control
      return OriginResponse(headers: fields, body: "\(number)".utf8)
    }
  }

  @Test("the Date of the origin stays")
  func originDate() async throws {
    try await GatewayFixture.running { fixture in
      let date = "Sun, 06 Nov 1994 08:49:37 GMT"
      fixture.origin.serve("/dated", [65], headers: [.date: date, .cacheControl: "max-age=60"])
      for _ in 0..<2 {
        let answer = try await fixture.get("/dated")
        #expect(answer["date"] == date)
      }
    }
  }

  @Test("hop-by-hop fields are not forwarded")
  func hopByHopFields() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", [65])
      _ = try await fixture.get("/a?b=%7E", ["X-Mine: 1", "Connection: X-Mine", "Keep-Alive: 5", "X-Other: 2"])
      let request = try #require(fixture.origin.requests.first)
      let names = Set(request.headers.map(\.name.canonicalName))
      #expect(names.isDisjoint(with: ["x-mine", "keep-alive", "connection"]) && names.contains("x-other"))
      #expect(request.headers[.via] == "1.1 renderhost")
      #expect(HTTPField.Name("X-Forwarded-For").flatMap { request.headers[$0] } == "127.0.0.1")
      #expect(HTTPField.Name("X-Forwarded-Host").flatMap { request.headers[$0] } == "api.example.com")
      #expect(request.headers[.acceptEncoding] == "identity")
    }
  }

  @Test("a condition is answered from the cache")
  func conditions() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/tagged", Array("abc".utf8), etag: "\"1\"", headers: Self.kept)
      _ = try await fixture.get("/tagged")
      let unchanged = try await fixture.get("/tagged", ["If-None-Match: \"1\""])
      #expect(unchanged.status == 304 && unchanged.body.isEmpty && unchanged["via"] == "1.1 renderhost")
      let part = try await fixture.get("/tagged", ["Range: bytes=1-"])
      #expect(part.status == 206 && part.body == "bc" && part["content-range"] == "bytes 1-2/3")
      #expect(fixture.origin.requestCount(path: "/tagged") == 1)
    }
  }

  @Test("a POST is forwarded, and invalidates the stored response")
  func post() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.respond("/items") { request in
        OriginResponse(status: request.method == .post ? .created : .ok, headers: Self.kept, body: request.text.utf8)
      }
      _ = try await fixture.get("/items")
      let posted = try await fixture.get("/items", method: "POST", body: "new")
      #expect(posted.status == 201 && posted.body == "new")
      _ = try await fixture.get("/items")
      #expect(fixture.origin.requests(to: "/items").map(\.method) == [.get, .post, .get])
    }
  }

  /// RFC 9111 §4.4.
  @Test(
    "a POST invalidates the URLs that its response names on the same host",
    arguments: [
      (OriginSettings.Forwarding.xForwarded, "https://api.example.com/items", true),
      (.none, "http://API.example.com:80/items", true), (.xForwarded, "/items", true),
      (.xForwarded, "https://api.example.com:8443/items", false), (.xForwarded, "https://other.example/items", false),
    ])
  func postReferences(
    _ forwarding: OriginSettings.Forwarding, _ location: String, _ isOwn: Bool
  ) async throws {
    try await GatewayFixture.running({ $0.gateway.origins[0].forwarding = forwarding }) { fixture in
      fixture.origin.serve("/items", [65], headers: Self.kept)
      for name in [HTTPField.Name.location, .contentLocation] {
        fixture.origin.respond("/form") { _ in OriginResponse(status: .created, headers: [name: location]) }
        _ = try await fixture.get("/items")
        let before = fixture.origin.requestCount(path: "/items")
        _ = try await fixture.get("/form", method: "POST", body: "new")
        _ = try await fixture.get("/items")
        #expect(fixture.origin.requestCount(path: "/items") == before + (isOwn ? 1 : 0), "\(name)")
      }
    }
  }

  @Test("a private response is requested each time")
  func privateResponses() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/private", [65], headers: [.cacheControl: "private, max-age=60"])
      fixture.origin.serve("/secret", [65], headers: Self.kept)
      for _ in 0..<2 {
        _ = try await fixture.get("/private")
        _ = try await fixture.get("/secret", ["Authorization: Bearer a"])
      }
      #expect(fixture.origin.requestCount(path: "/private") == 2)
      #expect(fixture.origin.requestCount(path: "/secret") == 2)
    }
  }

  @Test("with an unreachable origin stored responses are served, and other requests get an error")
  func unreachableOrigin() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/stale", [65], headers: [.cacheControl: "max-age=0, stale-if-error=60"])
      _ = try await fixture.get("/stale")
      try await fixture.origin.refuseConnections()
      let stale = try await fixture.get("/stale")
      #expect(stale.status == 200)
      let other = try await fixture.get("/other")
      #expect(other.status == 502 && other.body.contains("cannot be reached"))
    }
  }

  @Test("a truncated body is not served as complete")
  func truncatedBody() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/cut", Array(repeating: 65, count: 1_000), headers: Self.kept)
      fixture.origin.script("/cut", [.contentLengthTooLong(by: 10)])
      let cut = try await fixture.get("/cut")
      #expect(cut["content-length"] == "1010" && cut.body.count <= 1_000)
      let whole = try await fixture.get("/cut")
      #expect(whole.status == 200 && whole.body.count == 1_000)
    }
  }

  @Test("concurrent equal requests share one request to the origin")
  func collapsedRequests() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/slow", Array("once".utf8), headers: Self.kept)
      fixture.origin.hold("/slow")
      try await withThrowingTaskGroup(of: GatewayFixture.Answer.self) { group in
        for number in 0..<40 { group.addTask { try await fixture.get("/slow", ["User-Agent: client \(number)"]) } }
        try await fixture.origin.waitForRequests(1, to: "/slow")
        fixture.origin.release("/slow")
        for try await answer in group { #expect(answer.body == "once") }
      }
      #expect(fixture.origin.requestCount(path: "/slow") == 1)
    }
  }

  @Test("concurrent requests share the response of their own variant")
  func collapsedVariants() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.respond("/varied") { request in
        OriginResponse(
          headers: [.cacheControl: "max-age=60", .vary: "Accept-Language"],
          body: (request.headers[.acceptLanguage] ?? "none").utf8)
      }
      fixture.origin.hold("/varied")
      let languages = ["de", "en", "fr"]
      try await withThrowingTaskGroup(of: (String, String).self) { group in
        for number in 0..<60 {
          let language = languages[number % 3]
          group.addTask {
            (
              language,
              try await fixture.get("/varied", ["Accept-Language: \(language)", "User-Agent: \(number)"]).body
            )
          }
        }
        try await fixture.origin.waitForRequests(1, to: "/varied")
        fixture.origin.release("/varied")
        for try await (language, body) in group { #expect(body == language) }
      }
      #expect(fixture.origin.requestCount(path: "/varied") == 3)
    }
  }

  @Test("a private response releases waiting requests to the origin")
  func uncollapsedRequests() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.respond("/mine") { request in
        OriginResponse(headers: [.cacheControl: "private"], body: (request.headers[.userAgent] ?? "").utf8)
      }
      fixture.origin.hold("/mine")
      try await withThrowingTaskGroup(of: (String, String).self) { group in
        for number in 0..<10 {
          group.addTask { ("\(number)", try await fixture.get("/mine", ["User-Agent: \(number)"]).body) }
        }
        try await fixture.origin.waitForRequests(1, to: "/mine")
        fixture.origin.release("/mine")
        for try await (number, body) in group { #expect(body == number) }
      }
      #expect(fixture.origin.requestCount(path: "/mine") == 10)
    }
  }

  @Test("target, fields and body are forwarded unchanged")
  func unchangedRequest() async throws {
    try await GatewayFixture.running { fixture in
      for target in ["/a/../b/%7e?x=%2F&random=1", "/%E4//c?"] { _ = try await fixture.get(target) }
      #expect(fixture.origin.requests.map(\.path) == ["/a/../b/%7e?x=%2F&random=1", "/%E4//c?"])
      let request = try #require(fixture.origin.requests.first)
      #expect(!request.headers.contains(.accept) && !request.headers.contains(.userAgent))
    }
  }

  @Test("a request body is forwarded while it arrives")
  func streamedRequest() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.respond("/upload") { OriginResponse(body: "\($0.bodySize)".utf8) }
      let client = try RawClient(port: fixture.port)
      client.send("POST /upload HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
      try await fixture.origin.waitForReceivedBytes(5, to: "/upload")
      client.send("6\r\nsecond\r\n0\r\n\r\n")
      #expect(try await client.read(until: "\r\n\r\n11").hasPrefix("HTTP/1.1 200 "))
    }
  }

  @Test("a body over the limit is refused, and never complete at the origin")
  func bodyLimit() async throws {
    try await GatewayFixture.running {
      $0.limits.body = 10_000
    } _: { fixture in
      fixture.origin.respond("/upload") { OriginResponse(body: "\($0.bodySize)".utf8) }
      let told = try await fixture.get("/upload", method: "POST", body: String(repeating: "b", count: 20_000))
      #expect(told.status == 413 && fixture.origin.requests.isEmpty)
      let client = try RawClient(port: fixture.port)
      client.send("POST /upload HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
      for _ in 0..<4 { client.send("1000\r\n\(String(repeating: "b", count: 0x1000))\r\n") }
      #expect(try await client.readToEnd().hasPrefix("HTTP/1.1 413 "))
      #expect(fixture.origin.completedResponses(path: "/upload") == 0)
    }
  }

  @Test("interim responses are forwarded before the final one")
  func interimHeads() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/hinted", Array("body".utf8))
      let link = try #require(HTTPField.Name("Link"))
      fixture.origin.always("/hinted", .informational(103, [link: "</a.js>; rel=preload"]))
      let client = try RawClient(port: fixture.port)
      client.send("GET /hinted HTTP/1.1\r\nHost: h\r\n\r\n")
      let answer = try await client.read(until: "body")
      #expect(answer.hasPrefix("HTTP/1.1 103 "), "\(answer)")
      #expect(answer.contains("</a.js>; rel=preload") && answer.contains("HTTP/1.1 200 "))
    }
  }

  @Test("trailer fields are forwarded")
  func trailers() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/trailed", Array("body".utf8), headers: [.cacheControl: "no-store"])
      let sum = try #require(HTTPField.Name("X-Sum"))
      fixture.origin.always("/trailed", .trailers([sum: "4"]))
      let answer = try await fixture.get("/trailed")
      #expect(answer.status == 200 && answer.body.lowercased().contains("0\r\nx-sum: 4\r\n\r\n"), "\(answer.body)")
    }
  }
}
