import HTTPTypes
import PageTesting
import Synchronization
import Testing

@testable import HTTPCache
@testable import HTTPCaching
@testable import HTTPTransport

struct ResourceRulesTests {
  @Test(arguments: [
    ("*", "https://a.com/", true), ("/api/*", "https://a.com/api/x?y=1", true),
    ("/api/*", "https://a.com/b/api/", false),
    ("*.png", "https://a.com/b/c.png", true), ("*.png", "https://a.com/c.png?v=1", false),
    ("*.png*", "https://a.com/c.png?v=1", true), ("https://a.com/*/x", "https://a.com/b/c/x", true),
    ("https://a.com/*/x", "https://a.com/x", false), ("/a*b*c", "https://a.com/aXbYbZc", true),
    ("/a*b*c", "https://a.com/aXbYbZ", false), ("/", "https://a.com", true), ("", "https://a.com/", false),
    ("/a?b", "https://a.com/axb", false), ("/a.b", "https://a.com/axb", false),
  ])
  func aGlobMatchesWhatItSays(_ glob: String, _ url: String, _ isMatch: Bool) throws {
    #expect(URLPattern.glob(glob).matches(try #require(PageURL(url))) == isMatch)
  }

  // Steps that grow exponentially with the stars would not end.
  @Test(.timeLimit(.minutes(1))) func aGlobOfManyStarsEnds() throws {
    let url = try #require(PageURL("https://a.com/" + String(repeating: "a", count: 20_000)))
    let glob = URLPattern.glob(String(repeating: "*a", count: 100) + "*b")
    #expect(!glob.matches(url))
  }

  @Test func aPrefixMatchesWhatBeginsSo() throws {
    let url = try #require(PageURL("https://a.com/api/x"))
    #expect(URLPattern.prefix("https://a.com/api/").matches(url))
    #expect(!URLPattern.prefix("https://a.com/b").matches(url))
    #expect(URLPattern.any.matches(url))
  }

  @Test func theFirstRuleThatMatchesURLAndTypeCounts() async throws {
    try await ResourceFixture.running { configuration, origin in
      configuration.rules = [
        ResourceRule(.glob("/img/*"), types: [.image], behavior: .cacheFirst),
        ResourceRule(.prefix(origin.url(for: "/img/")), behavior: .networkOnly),
        ResourceRule(types: [.font], behavior: .cacheOnly),
      ]
    } _: { fixture in
      func behavior(_ path: String, _ type: ResourceType = .other) throws -> String {
        try fixture.outgoing(fixture.request(path, type: type)).behavior.name
      }
      #expect(try behavior("/img/a", .image) == "cacheFirst")
      #expect(try behavior("/img/a", .fetch) == "networkOnly")
      #expect(try behavior("/a", .font) == "cacheOnly")
      #expect(try behavior("/a") == "automatic")
      #expect(try fixture.outgoing(fixture.request("/img/a", .protocolCache)).behavior == .protocolCache)
      try await fixture.waitUntilIdle()
    }
  }

  @Test func parametersThatOnlyDefeatCachesDoNotCountButAreSent() async throws {
    try await ResourceFixture.running { configuration, _ in
      configuration.rules = [ResourceRule(.glob("/a?b=1"), behavior: .cacheFirst)]
    } _: { fixture in
      fixture.serve("/a", "one")
      #expect(try await fixture.load("/a?random=5&b=1").text == "one")
      #expect(fixture.origin.requests.map(\.path) == ["/a?random=5&b=1"])
      let again = try await fixture.load("/a?b=1&random=6")
      #expect(again.source.isCache)
      #expect(try await fixture.load("/a?b=2").source == .network)
    }
  }

  @Test func aRuleLimitsOrSetsHowLongAnswersAreFresh() async throws {
    try await ResourceFixture.running { configuration, _ in
      configuration.rules = [
        ResourceRule(.glob("/short"), lifetime: .atMost(10)), ResourceRule(.glob("/long"), lifetime: .exactly(1000)),
      ]
    } _: { fixture in
      for path in ["/short", "/long", "/plain"] {
        fixture.serve(path, "one", etag: "\"1\"", cacheControl: "max-age=100")
        try await fixture.load(path)
      }
      func isAsked(_ path: String) async throws -> Bool { try await !fixture.load(path).source.isCache }
      fixture.time.advance(50)
      #expect(try await isAsked("/short"))
      #expect(try await !isAsked("/long"))
      #expect(try await !isAsked("/plain"))
      fixture.time.advance(5)
      #expect(try await !isAsked("/short"))
      fixture.time.advance(500)
      #expect(try await isAsked("/plain"))
      #expect(try await !isAsked("/long"))
      fixture.time.advance(500)
      #expect(try await isAsked("/long"))
    }
  }

  @Test(
    "a shared cache stores responses with cookies if its policy or the rule permits that",
    arguments: [(false, false), (false, true), (true, false), (true, true)])
  func sharedCookies(_ policyAllows: Bool, _ ruleAllows: Bool) async throws {
    var options = ResourceFixture.Options(mode: .shared, sharesCookies: policyAllows)
    options.configure = { configuration, _ in
      configuration.partition = .shared
      var rule = ResourceRule(.glob("/rule"))
      rule.sharesCookies = ruleAllows
      configuration.rules = [rule]
    }
    try await ResourceFixture.running(options) { fixture in
      for (path, isStored) in [("/rule", policyAllows || ruleAllows), ("/plain", policyAllows)] {
        fixture.serve(path, "text", cacheControl: "max-age=60", headers: [.setCookie: "session=1"])
        try await fixture.load(path)
        #expect(try await fixture.load(path).source.isCache == isStored, "\(path)")
      }
    }
  }

  @Test func theAgeOfAnAnswerIsThatSinceItsMaking() async throws {
    try await ResourceFixture.running { fixture in
      let age = try #require(HTTPField.Name("Age"))
      fixture.serve("/a", "text", cacheControl: "max-age=60", headers: [age: "20"])
      #expect(try await fixture.load("/a").loaded.age == 20)
      fixture.time.advance(5)
      let answer = try await fixture.load("/a")
      #expect((answer.loaded.age, answer.fields[age], answer.source.isCache) == (25, "25", true))
      fixture.time.advance(35)
      #expect(try await fixture.load("/a").source == .network)
    }
  }

  @Test func anAnswerToAPostIsStoredWhereARuleDeclaresItsKey() async throws {
    try await ResourceFixture.running { configuration, _ in
      configuration.rules = [
        ResourceRule(.glob("/query")) { body in
          let text = String(decoding: body, as: UTF8.self)
          return text.hasPrefix("{") ? text : nil
        }
      ]
    } _: { fixture in
      for path in ["/query", "/other"] {
        fixture.origin.respond(path) { request in
          OriginResponse(headers: [.cacheControl: "max-age=60"], body: Array("got \(request.bodySize)".utf8))
        }
      }
      func post(_ path: String, _ body: String) async throws -> Answer {
        try await fixture.load(path, method: .post, body: body)
      }
      #expect(try await post("/query", "{1}").text == "got 3")
      #expect(try await post("/query", "{1}").source.isCache)
      #expect(try await post("/query", "{22}").text == "got 4")
      #expect(try await fixture.load("/query").source == .network)
      #expect(try await post("/query", "plain").source == .network)
      #expect(try await post("/query", "plain").source == .network)
      #expect(try await post("/other", "{1}").source == .network)
      #expect(try await post("/other", "{1}").source == .network)
      // What the key is made of is the content, however it is sent.
      var packed = fixture.request("/query", method: .post, body: "{1}")
      packed.compressesBody = true
      #expect(
        try fixture.outgoing(packed).key == fixture.outgoing(fixture.request("/query", method: .post, body: "{1}")).key)
      try await fixture.waitUntilIdle()
    }
  }
}
