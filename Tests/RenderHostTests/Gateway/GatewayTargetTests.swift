import HTTPTypes
import PageTesting
import Testing

@testable import CacheGateway
@testable import RenderHost

@Suite(.timeLimit(.minutes(2)))
struct GatewayTargetTests {
  private static func head(
    _ target: String, _ method: HTTPRequest.Method = .get, _ forwards: String? = nil
  ) -> HTTPRequest {
    var head = HTTPRequest(method: method, scheme: "http", authority: "host", path: target)
    if let forwards, let name = HTTPField.Name("Max-Forwards") { head.headerFields[name] = forwards }
    return head
  }

  @Test(
    "only TRACE and OPTIONS obey Max-Forwards",
    arguments: [
      (head("/", .trace, "0"), MaxForwards.answer), (head("/", .options, "0"), .answer),
      (head("/", .options, "000"), .answer), (head("/", .trace, "1"), .forward(0)),
      (head("/", .options, "10"), .forward(9)),
      (head("/", .trace, "99999999999999999999"), .forward(.max)), (head("/", .trace), .unbounded),
      (head("/", .trace, "-1"), .unbounded), (head("/", .trace, "1, 2"), .unbounded),
      (head("/", .trace, ""), .unbounded),
      (head("/", .get, "0"), .unbounded), (head("/", .post, "3"), .unbounded),
    ])
  func traceMethods(_ head: HTTPRequest, _ expected: MaxForwards) {
    #expect(MaxForwards(of: head) == expected)
  }

  @Test("an absolute target reaches the origin as a path")
  func absoluteTarget() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", Array("body".utf8), headers: [.cacheControl: "max-age=60"])
      for (target, host) in [("http://other.example/a", "api.example.com"), ("/a", "other.example")] {
        let answer = try await fixture.get(target, host: host)
        #expect(answer.body == "body")
      }
      #expect(fixture.origin.requests.map(\.path) == ["/a"])
      let name = try #require(HTTPField.Name("X-Forwarded-Host"))
      #expect(fixture.origin.requests.first?.headers[name] == "other.example")
    }
  }

  @Test("a request with Max-Forwards: 0 is answered by the gateway")
  func maxForwardsZero() async throws {
    try await GatewayFixture.running { fixture in
      let trace = try await fixture.get("/a?b", ["Max-Forwards: 0", "Cookie: secret", "X-Mine: 1"], method: "TRACE")
      #expect(trace.status == 200 && trace["content-type"] == "message/http")
      #expect(trace.body.hasPrefix("TRACE /a?b HTTP/1.1\r\nHost: api.example.com\r\n"), "\(trace.body)")
      #expect(trace.body.contains("X-Mine: 1\r\n") && !trace.body.contains("secret"))
      for target in ["/a", "*"] {
        let options = try await fixture.get(target, ["Max-Forwards: 0"], method: "OPTIONS")
        #expect(options.status == 200 && options["content-length"] == "0")
      }
      #expect(fixture.origin.requests.isEmpty)
    }
  }

  @Test("Max-Forwards is decremented")
  func maxForwardsCount() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.respond("/a") { _ in OriginResponse(body: "".utf8) }
      for method in ["TRACE", "OPTIONS", "GET"] { _ = try await fixture.get("/a", ["Max-Forwards: 3"], method: method) }
      let name = try #require(HTTPField.Name("Max-Forwards"))
      #expect(fixture.origin.requests.map { $0.headers[name] } == ["2", "2", "3"])
    }
  }
}
