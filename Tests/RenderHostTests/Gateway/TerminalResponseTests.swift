import HTTPTypes
import PageTesting
import TestServers
import Testing

@testable import CacheGateway
@testable import RenderHost

/// Answers that the gateway generates have a date, and a Cache-Status without an origin.
@Suite(.timeLimit(.minutes(2)))
struct TerminalResponseTests {
  @Test(
    "a generated answer has a Date and a Cache-Status",
    arguments: [
      ("OPTIONS * HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 200),
      ("GET /a#b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 400),
      ("GET ftp://h/a HTTP/1.1\r\nHost: h\r\n\r\n", 400),
      ("GET /a HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n", 400),
      ("GET /\(String(repeating: "u", count: 9_000)) HTTP/1.1\r\nHost: h\r\n\r\n", 414),
      ("GET /away HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 502),
    ])
  func ownAnswer(_ request: String, _ status: Int) async throws {
    try await GatewayFixture.running { fixture in
      try await fixture.origin.refuseConnections()
      let client = try RawClient(port: fixture.port)
      client.send(request)
      let answer = try await client.readToEnd()
      #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
      let lines = answer.lowercased().components(separatedBy: "\r\n")
      #expect(lines.count { $0.hasPrefix("date: ") && $0.hasSuffix(" gmt") } == 1, "\(answer)")
      let detail = status == 502 ? "fault" : "gateway"
      #expect(lines.filter { $0.hasPrefix("cache-status") } == ["cache-status: pagekit; detail=\(detail)"])
    }
  }

  @Test("a refused connection gets a Date and a Cache-Status")
  func refusedConnection() async throws {
    try await GatewayFixture.running({ $0.limits.connectionsPerAddress = 1 }) { fixture in
      let first = try RawClient(port: fixture.port)
      // The first connection is open before the second one.
      first.send("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await first.read(until: "\r\n\r\n")
      let second = try RawClient(port: fixture.port)
      let answer = try await second.readToEnd()
      #expect(answer.hasPrefix("HTTP/1.1 429 "), "\(answer)")
      #expect(answer.contains("\r\nDate: ") && answer.contains("\r\nCache-Status: PageKit; detail=gateway\r\n"))
      withExtendedLifetime(first) {}
    }
  }

  @Test("a forwarded answer has one Cache-Status, and a Date")
  func originAnswer() async throws {
    try await GatewayFixture.running({ $0.gateway.origins[0].tagLimit = 1_000 }) { fixture in
      fixture.origin.serve("/a", Array("abc".utf8), headers: [.cacheControl: "no-store"])
      let whole = try await fixture.get("/a")
      let tag = try #require(whole["etag"])
      let again = try await fixture.get("/a", ["If-None-Match: \(tag)"])
      #expect(again.status == 304)
      for answer in [whole, again] {
        #expect(answer["cache-status"] == "PageKit; fwd=uri-miss" && answer["date"] != nil)
      }
    }
  }
}
