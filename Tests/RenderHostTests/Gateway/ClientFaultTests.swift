import HTTPTypes
import PageTesting
import TestServers
import Testing

@testable import CacheGateway
@testable import RenderHost

/// Ambiguous requests, and requests beyond a limit, end at the gateway.
@Suite(.timeLimit(.minutes(2)))
struct ClientFaultTests {
  private static let hidden = "GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n"

  @Test(
    "neither a refused request nor bytes hidden after it reach the origin",
    arguments: [
      ("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd", 400),
      ("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4, 4\r\n\r\nabcd", 400),
      ("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: +4\r\n\r\nabcd", 400),
      ("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9223372036854775808\r\n\r\nabcd", 400),
      ("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551615\r\n\r\nabcd", 400),
      ("GET /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9223372036854775808\r\n\r\nabcd", 400),
      ("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9223372036854775807\r\n\r\nabcd", 413),
      ("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
      ("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", 400),
      ("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
      ("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 400),
      ("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400),
      ("POST /a HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
      ("GET /a HTTP/1.1\r\nHost: h\r\nA: b\rc\r\n\r\n", 400), ("GET /a HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n", 400),
      ("GET /a HTTP/1.1\r\nHost: h\r\nA: b\u{0}c\r\n\r\n", 400),
      ("GET /a HTTP/1.1\r\nHost: h\r\nA: b\u{1}\r\n\r\n", 400),
      ("GET /a HTTP/1.1\r\nHost: h\r\n: b\r\n\r\n", 400), ("GET /a HTTP/1.1\r\nHost: h\r\nA b\r\n\r\n", 400),
      ("GET /a HTTP/1.1\r\n\r\n", 400), ("GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
      ("GET /a\u{1} HTTP/1.1\r\nHost: h\r\n\r\n", 400), ("GET a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 400),
      ("GET http://u@h/a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 400),
      ("GET ftp://h/a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 400),
      ("GET * HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 400),
      ("CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\nConnection: close\r\n\r\n", 501),
      ("GET /a HTTP/2.0\r\nHost: h\r\n\r\n", 505), ("GET /a HTTP/3.1\r\nHost: h\r\n\r\n", 505),
      ("GET /a HTTP/1.2\r\nHost: h\r\n\r\n", 505), ("GET /a HTTP/0.9\r\nHost: h\r\n\r\n", 505),
      ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400), ("GET /a HTTP/1.1x\r\nHost: h\r\n\r\n", 505),
      ("FOO /a HTTP/1.1\r\nHost: h\r\n\r\n", 501), ("get /a HTTP/1.1\r\nHost: h\r\n\r\n", 501),
      ("GETS /a HTTP/1.1\r\nHost: h\r\n\r\n", 501), ("<> /a HTTP/1.1\r\nHost: h\r\n\r\n", 501),
      ("GET /\(String(repeating: "u", count: 9_000)) HTTP/1.1\r\nHost: h\r\n\r\n", 414),
      ("GET /a HTTP/1.1\r\nHost: h\r\nA: \(String(repeating: "b", count: 40_000))\r\n\r\n", 431),
    ])
  func refusedRequests(_ request: String, _ status: Int) async throws {
    try await GatewayFixture.running { fixture in
      let client = try RawClient(port: fixture.port)
      client.send(request + Self.hidden)
      let answer = try await client.readToEnd()
      #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
      #expect(fixture.origin.requests.isEmpty, "\(fixture.origin.requests)")
    }
  }

  @Test("no request is answered that came at once with one after which the connection is closed")
  func behindTheLast() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/hidden", [65], headers: [.cacheControl: "no-store"])
      let refused = "GET /\(String(repeating: "u", count: 9_000)) HTTP/1.1\r\nHost: h\r\n\r\n"
      for _ in 0..<30 {
        let client = try RawClient(port: fixture.port)
        client.send(refused + String(repeating: Self.hidden, count: 20))
        let answer = try await client.readToEnd()
        #expect(answer.hasPrefix("HTTP/1.1 414 ") && answer.split(separator: "HTTP/1.1 ").count == 1)
      }
      #expect(fixture.origin.requests.isEmpty)
    }
  }

  /// RFC 9110 §9.1: all methods that swift-nio's parser knows.
  @Test("any method is forwarded by its name")
  func methods() async throws {
    try await GatewayFixture.running { fixture in
      let methods = [
        "GET", "DELETE", "POST", "PUT", "PATCH", "COPY", "LOCK", "MKCOL", "MOVE", "PROPFIND", "PROPPATCH", "SEARCH",
        "UNLOCK", "BIND", "REBIND", "UNBIND", "ACL", "REPORT", "MKACTIVITY", "CHECKOUT", "MERGE", "M-SEARCH", "NOTIFY",
        "SUBSCRIBE", "UNSUBSCRIBE", "PURGE", "MKCALENDAR", "LINK", "UNLINK", "QUERY",
      ]
      for method in methods {
        let answer = try await fixture.get("/a", method: method, body: method == "GET" ? nil : "b")
        #expect(![400, 501, 502].contains(answer.status), "\(method) \(answer)")
      }
      // The origin's own parser omits the hyphen of M-SEARCH.
      #expect(fixture.origin.requests.map(\.method.rawValue) == methods.map { $0 == "M-SEARCH" ? "MSEARCH" : $0 })
    }
  }

  @Test("a refusal states its reason")
  func refusalReasons() async throws {
    try await GatewayFixture.running { fixture in
      for (line, reason) in [("FOO /a HTTP/1.1", "the request's method"), ("GET /a HTTP/1.2", "versions 1.0 and 1.1")] {
        let client = try RawClient(port: fixture.port)
        client.send("\(line)\r\nHost: h\r\n\r\n")
        let answer = try await client.readToEnd()
        #expect(answer.contains(reason) && answer.contains("\r\nDate: "), "\(answer)")
      }
    }
  }

  /// The decoder reads nothing after a request for another protocol.
  @Test(
    "no request is read after a request for another protocol",
    arguments: [
      "GET /a HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
      "POST /a HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n\r\nb",
      "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n",
    ])
  func upgradeEndsRequests(_ request: String) async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.respond("/a") { OriginResponse(body: "\($0.bodySize)".utf8) }
      let client = try RawClient(port: fixture.port)
      client.send(request + Self.hidden + String(repeating: "more", count: 100_000))
      let answer = try await client.readToEnd()
      #expect(answer.contains("\r\nConnection: close\r\n") && !answer.contains("101 "), "\(answer)")
      #expect(fixture.origin.requestCount(path: "/hidden") == 0)
      #expect(
        fixture.origin.requests.allSatisfy { !$0.headers.contains(.upgrade) && !$0.headers.contains(.connection) })
    }
  }

  @Test(
    "a malformed chunk ends its request",
    arguments: [
      "zz\r\nabcd\r\n0\r\n\r\n", "4\r\nabcdX\r\n0\r\n\r\n", "-4\r\nabcd\r\n0\r\n\r\n", "0x4\r\nabcd\r\n0\r\n\r\n",
      "fffffffffffffffff\r\nabcd\r\n0\r\n\r\n", "4\nabcd\r\n0\r\n\r\n", "4 \r\nabcd\r\n0\r\n\r\n",
    ])
  func badChunk(_ chunks: String) async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.respond("/a") { OriginResponse(body: "\($0.bodySize)".utf8) }
      let client = try RawClient(port: fixture.port)
      client.send("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)\(Self.hidden)")
      let answer = try await client.readToEnd()
      #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
      #expect(fixture.origin.completedResponses(path: "/a") == 0)
      #expect(fixture.origin.requestCount(path: "/hidden") == 0)
    }
  }

  @Test("chunk extensions are not forwarded")
  func chunkExtensions() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.respond("/a") { OriginResponse(body: "\($0.bodySize)".utf8) }
      let client = try RawClient(port: fixture.port)
      let long = String(repeating: "e", count: 100_000)
      client.send("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n4;\(long)\r\n")
      client.send("abcd\r\n0;a=\"b\"\r\n\r\n")
      let answer = try await client.readToEnd()
      #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.hasSuffix("\r\n\r\n4"), "\(answer)")
    }
  }

  @Test("a body that exceeds its time does not reach the origin as complete")
  func slowBody() async throws {
    try await GatewayFixture.running {
      $0.limits.bodyTime = .milliseconds(300)
    } _: { fixture in
      fixture.origin.respond("/a") { OriginResponse(body: "\($0.bodySize)".utf8) }
      let client = try RawClient(port: fixture.port)
      client.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc")
      #expect(try await !client.readToEnd().contains("200 OK"))
      #expect(fixture.origin.completedResponses(path: "/a") == 0)
    }
  }

  @Test("an answer before the end of the request announces the end of the connection")
  func earlyAnswer() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.respond("/a") { _ in OriginResponse(status: .forbidden, body: "no".utf8) }
      fixture.origin.answerHeads("/a")
      let client = try RawClient(port: fixture.port)
      client.send("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n")
      let answer = try await client.readToEnd()
      #expect(answer.hasPrefix("HTTP/1.1 403 ") && answer.contains("Connection: close\r\n"), "\(answer)")
    }
  }
}
