import HTTPTransport
import HTTPTypes
import PageTesting
import TestServers
import Testing

@testable import CacheGateway
@testable import RenderHost

/// The hosts that a gateway answers: any name can be made to resolve to it.
@Suite(.timeLimit(.minutes(2)))
struct GatewayHostTests {
  private static func shop(_ settings: inout Settings) {
    settings.gateway.origins[0].hosts = ["shop.example", "*.shop.example"]
  }

  private static func status(of answer: String) -> Int {
    Int(answer.split(separator: " ").dropFirst().first ?? "") ?? 0
  }

  @Test(
    "a host without an origin gets 421 in each form of the request, and no origin gets the request",
    arguments: [
      ("GET /a HTTP/1.1", "Host: evil.example"), ("POST /a HTTP/1.1", "Host: evil.example\r\nContent-Length: 0"),
      ("GET http://evil.example/a HTTP/1.1", "Host: shop.example"),
      ("GET HTTPS://evil.example:443/a HTTP/1.1", "Host: shop.example"),
      ("OPTIONS http://evil.example HTTP/1.1", "Host: shop.example"), ("OPTIONS * HTTP/1.1", "Host: evil.example"),
      ("TRACE /a HTTP/1.1", "Host: evil.example\r\nMax-Forwards: 0"),
      ("OPTIONS /a HTTP/1.1", "Host: evil.example\r\nMax-Forwards: 0"),
      ("GET /a HTTP/1.1", "Host: shop.example.evil.example"), ("GET /a HTTP/1.1", "Host: evilshop.example"),
      ("GET /a HTTP/1.1", "Host: 127.0.0.1"), ("GET /a HTTP/1.1", "Host: localhost:8081"),
      ("GET /a HTTP/1.1", "Host:"), ("GET /a HTTP/1.0", "Accept: */*"),
    ])
  func unknownHost(_ line: String, _ fields: String) async throws {
    try await GatewayFixture.running(Self.shop) { fixture in
      let client = try RawClient(port: fixture.port)
      client.send("\(line)\r\n\(fields)\r\nConnection: close\r\n\r\n")
      let answer = try await client.readToEnd()
      #expect(Self.status(of: answer) == 421 && answer.contains("this gateway has no origin with"), "\(answer)")
      #expect(fixture.origin.requests.isEmpty)
    }
  }

  @Test(
    "the host of an origin is answered in each form of the request",
    arguments: [
      ("GET /a HTTP/1.1", "Host: shop.example"), ("GET /a HTTP/1.1", "Host: SHOP.example.:8081"),
      ("GET /a HTTP/1.1", "Host: eu.shop.example"), ("GET http://shop.example/a HTTP/1.1", "Host: evil.example"),
    ])
  func knownHost(_ line: String, _ fields: String) async throws {
    try await GatewayFixture.running(Self.shop) { fixture in
      fixture.origin.serve("/a", Array("body".utf8))
      let client = try RawClient(port: fixture.port)
      client.send("\(line)\r\n\(fields)\r\nConnection: close\r\n\r\n")
      let answer = try await client.readToEnd()
      #expect(Self.status(of: answer) == 200 && answer.hasSuffix("body"), "\(answer)")
    }
  }

  @Test("over TLS the host of each request chooses its origin", arguments: ["--http1.1", "--http2"])
  func hostOverTLS(_ version: String) async throws {
    try await GatewayFixture.secure(Self.shop) { fixture in
      fixture.origin.serve("/a", Array("body".utf8))
      for (host, status) in [("evil.example", "421"), ("shop.example", "200"), ("localhost", "421")] {
        let answer = try await Tool.run(
          "curl", "-sk", version, "-o", "/dev/null", "-w", "%{http_code}", "--connect-to",
          "::127.0.0.1:\(fixture.port)",
          "https://\(host)/a")
        #expect(answer.output == status, "\(host)")
      }
      #expect(fixture.origin.requests.count == 1)
    }
  }

  @Test("an origin without hosts answers any host, and stores the answers of each host separately")
  func originWithoutHosts() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", Array("body".utf8), headers: [.cacheControl: "max-age=60"])
      for host in ["api.example.com", "other.example", "127.0.0.1", "other.example"] {
        let answer = try await fixture.get("/a", host: host)
        #expect(answer.status == 200 && answer.body == "body", "\(host)")
      }
      let name = try #require(HTTPField.Name("X-Forwarded-Host"))
      let asked = fixture.origin.requests.map { $0.headers[name] }
      #expect(asked == ["api.example.com", "other.example", "127.0.0.1"])
    }
  }

  private static func head(_ authority: String?, hosts: [String]) throws -> HTTPRequest {
    var head = HTTPRequest(method: .get, scheme: "https", authority: authority, path: "/")
    head.headerFields[values: try #require(HTTPField.Name("Host"))] = hosts
    return head
  }

  @Test(
    "an HTTP/2 request has the host of its authority or else of its Host field, and must not have two",
    arguments: [
      ("a.example", [], "a.example", nil), (nil, ["a.example"], "a.example", nil),
      ("a.example", ["A.example"], "a.example", nil), (nil, [], nil, nil),
      ("a.example", ["b.example"], "a.example", "the request names two hosts"),
      (nil, ["a.example", "b.example"], "a.example", "the request names two hosts"),
      (nil, ["a/b"], "a/b", "the request's host is not a valid name or address"),
    ] as [(String?, [String], String?, String?)])
  func http2Host(_ authority: String?, _ hosts: [String], _ host: String?, _ fault: String?) throws {
    let head = try Self.head(authority, hosts: hosts)
    #expect(head.host == host && RequestValidation.fault(in: head) == fault)
  }
}
