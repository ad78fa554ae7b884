import HTTPTypes
import PageTesting
import Testing

@testable import CacheGateway
@testable import RenderHost

/// Requests that the gateway treats as equal are equal to the origin.
@Suite(.timeLimit(.minutes(2)))
struct RequestIdentityTests {
  private static let kept: HTTPFields = [.cacheControl: "max-age=100"]

  @Test("a response for one host does not answer another")
  func hostIsolation() async throws {
    let name = try #require(HTTPField.Name("X-Forwarded-Host"))
    try await GatewayFixture.running { fixture in
      fixture.origin.respond("/a") { OriginResponse(headers: Self.kept, body: ($0.headers[name] ?? "").utf8) }
      for _ in 0..<2 {
        for host in ["good.example", "evil.example"] {
          let answer = try await fixture.get("/a", host: host)
          #expect(answer.body == host)
        }
      }
      #expect(try await fixture.get("/a", host: "GOOD.example").body == "good.example")
      #expect(fixture.origin.requestCount(path: "/a") == 2)
      // A purge of the URL affects all of them.
      #expect(try await fixture.purge(PurgeOrder(.url("/a"))) == 2)
    }
  }

  @Test("hosts share responses if the origin cannot distinguish them")
  func sharedHosts() async throws {
    try await GatewayFixture.running({ $0.gateway.origins[0].forwarding = .none }) { fixture in
      fixture.origin.serve("/a", [65], headers: Self.kept)
      for host in ["a.example", "b.example"] {
        let answer = try await fixture.get("/a", host: host)
        #expect(answer.body == "A")
      }
      #expect(fixture.origin.requestCount(path: "/a") == 1)
    }
  }

  @Test(
    "an equivalent target is forwarded unchanged and does not share entries", arguments: ["/x/../a", "/./a", "/%61"])
  func equivalentTargets(_ target: String) async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", Array("right".utf8), headers: Self.kept)
      fixture.origin.serve(target, Array("other".utf8), headers: Self.kept)
      for _ in 0..<2 {
        let answer = try await fixture.get(target)
        #expect(answer.body == "other")
      }
      #expect(try await fixture.get("/a").body == "right")
      #expect(try await fixture.get(target).body == "other")
      #expect(fixture.origin.requestCount(path: target) == 3)
    }
  }

  /// RFC 9110 §6.6.1.
  @Test("a response without Date gets one")
  func missingDate() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", Array("abc".utf8))
      fixture.origin.always("/a", .rawHead("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"))
      let answer = try await fixture.get("/a")
      #expect(answer.body == "abc" && answer["date"]?.hasSuffix("GMT") == true)
    }
  }

  @Test("a fragment is not part of a request")
  func fragment() async throws {
    try await GatewayFixture.running { fixture in
      let answer = try await fixture.get("/a#b")
      #expect(answer.status == 400)
      #expect(fixture.origin.requests.isEmpty)
    }
  }

  @Test("letters beyond ASCII are forwarded unchanged")
  func nonASCII() async throws {
    let name = try #require(HTTPField.Name("X-Name"))
    try await GatewayFixture.running { fixture in
      fixture.origin.respond("/a") {
        OriginResponse(headers: [.cacheControl: "max-age=100", .vary: "X-Name", name: "<\($0.headers[name] ?? "")>"])
      }
      for value in ["é", "é", "è", "日本", "\u{FFFD}"] {
        let answer = try await fixture.get("/a", ["X-Name: \(value)"])
        #expect(answer["x-name"] == "<\(value)>")
      }
      #expect(fixture.origin.requestCount(path: "/a") == 4)
    }
  }

  @Test(
    "a host that violates the grammar is refused",
    arguments: [
      ("api.example.com", true), ("api.example.com:8443", true), ("[::1]:80", true), ("a_b.example", true),
      ("a\"b.example", false), ("a<b>.example", false), ("a\\b", false), ("a.example:x", false), ("[::1", false),
      ("[g::1]", false), ("é.example", false),
    ])
  func hostGrammar(_ text: String, _ isValid: Bool) {
    #expect(RequestValidation.isAuthority(text) == isValid)
  }

  @Test("an invalid host reaches no origin")
  func invalidHost() async throws {
    try await GatewayFixture.running { fixture in
      let answer = try await fixture.get("/a", host: "a\"b.example")
      #expect(answer.status == 400)
      #expect(fixture.origin.requests.isEmpty)
    }
  }
}
