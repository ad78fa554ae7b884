import CurlTransport
import HTTPTransport
import HTTPTypes
import PageKit
import PageTesting
import TestServers
import Testing

@testable import CacheGateway
@testable import RenderHost

/// Invalid responses of an origin are neither forwarded as valid nor stored.
@Suite(.timeLimit(.minutes(2)))
struct OriginFaultTests {
  private static let kept: HTTPFields = [.cacheControl: "max-age=60"]

  private static func head(_ lines: String, end: String = "\r\n\r\n") -> Fault {
    .rawHead("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\(lines)\(end)")
  }

  @Test(
    "an ambiguous response head is refused and not stored",
    arguments: [
      "Content-Length: 4\r\nContent-Length: 5", "Content-Length: 4, 5", "Content-Length: 0x4",
      "Content-Length: 4\r\nTransfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked",
      "Content-Length : 4", "Content-Length: 4\r\nA: b\0c", "Content-Length: 4\r\nwithout colon",
      "Content-Length: 4\r\nA: \(String(repeating: "b", count: 300_000))",
    ])
  func ambiguousHead(_ lines: String) async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", Array("body".utf8), headers: Self.kept)
      fixture.origin.script("/a", [Self.head(lines)])
      let refused = try await fixture.get("/a")
      #expect(refused.status == 502 && refused.body.contains("is not valid HTTP"), "\(refused.body)")
      let good = try await fixture.get("/a")
      #expect(good.status == 200 && good.body == "body")
      #expect(fixture.origin.requestCount(path: "/a") == 2)
    }
  }

  @Test("an endless response head is refused")
  func endlessHeads() async throws {
    try await GatewayFixture.running { fixture in
      let interim = String(repeating: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", count: 8_000)
      fixture.origin.always("/a", .rawHead(interim))
      let answer = try await fixture.get("/a")
      #expect(answer.status == 502 || answer.status == 103, "\(answer.status)")
      #expect(answer.body.contains("is not valid HTTP"))
    }
  }

  @Test(
    "bytes that a field must not contain are forwarded as spaces",
    arguments: [
      ("A: b\rSet-Cookie: c=d", "b Set-Cookie: c=d"), ("A: b\r\n \t c", "b c"), ("A: b\u{1}\u{7F}c", "b  c"),
    ])
  func controlBytes(_ line: String, _ value: String) async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", Array("body".utf8))
      fixture.origin.always("/a", Self.head("Content-Length: 4\r\n\(line)"))
      for _ in 0..<2 {
        let answer = try await fixture.get("/a")
        #expect(answer.status == 200 && answer.body == "body")
        #expect(answer["a"] == value && answer["set-cookie"] == nil)
      }
    }
  }

  @Test("a caching directive with a space before the colon applies")
  func spaceBeforeColon() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", Array("body".utf8))
      fixture.origin.always(
        "/a",
        .rawHead(
          "HTTP/1.1 200 OK\r\nCache-Control : private\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            + "Content-Length: 4\r\n\r\n"))
      for _ in 0..<2 {
        let answer = try await fixture.get("/a")
        #expect(answer["cache-control"] == "private")
      }
      #expect(fixture.origin.requestCount(path: "/a") == 2)
    }
  }

  @Test(
    "a body that breaks off is incomplete for the client too",
    arguments: [
      Fault.cutChunked(after: 500), head("Transfer-Encoding: chunked\r\n\r\n4\r\nwxyz\r\nzz\r\n", end: ""),
      head("Transfer-Encoding: chunked\r\n\r\n4\r\nwxyz!!0\r\n\r\n", end: ""),
      head("Transfer-Encoding: chunked\r\n\r\n4\r\nwxyz\r\nfffffffffffffffff1\r\n", end: ""),
    ])
  func brokenBody(_ fault: Fault) async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", Array(repeating: 65, count: 1_000), headers: Self.kept)
      fixture.origin.script("/a", [fault])
      let cut = try await fixture.get("/a")
      #expect(cut.status == 200 && cut["transfer-encoding"] == "chunked" && !cut.body.hasSuffix("0\r\n\r\n"))
      let whole = try await fixture.get("/a")
      #expect(whole.status == 200 && whole.body.count == 1_000)
      #expect(fixture.origin.requestCount(path: "/a") == 2)
    }
  }

  @Test("an unsolicited response does not answer the next request")
  func unsolicitedResponse() async throws {
    try await GatewayFixture.running { fixture in
      let unasked = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 4\r\n\r\nevil"
      // libcurl detects bytes that arrive together with the end of a small body.
      let body = String(repeating: "b", count: 300_000)
      fixture.origin.serve("/first", Array((body + unasked).utf8), headers: [.cacheControl: "no-store"])
      fixture.origin.always("/first", .contentLengthTooShort(by: unasked.utf8.count))
      fixture.origin.serve("/second", Array("good".utf8), headers: Self.kept)
      let first = try await fixture.get("/first")
      #expect(first.body == body)
      try await fixture.origin.waitForCompletedResponses(1, to: "/first")
      for _ in 0..<2 { #expect(try await fixture.get("/second").body == "good") }
    }
  }

  @Test(
    "an unreachable origin is replaced only by responses that may be stale",
    arguments: [
      Fault.closeBeforeHead, .resetBeforeHead, .garbage, .rawHead("HTTP/1.1 200 OK\r\nCache-Control: max-"),
      .rawHead("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), .status(503),
    ])
  func staleOnError(_ fault: Fault) async throws {
    try await GatewayFixture.running { fixture in
      for (path, control) in [
        ("/may", "max-age=0, stale-if-error=60"), ("/must-not", "max-age=0, must-revalidate, stale-if-error=60"),
      ] {
        fixture.origin.serve(path, Array("stored".utf8), etag: "\"1\"", headers: [.cacheControl: control])
        _ = try await fixture.get(path)
        fixture.origin.always(path, fault)
      }
      let may = try await fixture.get("/may")
      #expect(may.status == 200 && may.body == "stored" && may["cache-status"]?.contains("hit") == true)
      let mustNot = try await fixture.get("/must-not")
      #expect([502, 503].contains(mustNot.status) && mustNot.body != "stored")
    }
  }

  /// RFC 5861 §4.
  @Test("a response with stale-if-error needs no validator", arguments: [500, 502, 503, 504])
  func staleWithoutValidator(_ status: Int) async throws {
    try await GatewayFixture.running { fixture in
      for (path, control) in [
        ("/may", "max-age=0, stale-if-error=60"), ("/may-not", "max-age=0"),
        ("/must-not", "max-age=0, must-revalidate, stale-if-error=60"),
      ] {
        fixture.origin.serve(path, Array("stored".utf8), headers: [.cacheControl: control])
        _ = try await fixture.get(path)
        fixture.origin.always(path, .status(status))
      }
      for method in ["GET", "HEAD"] {
        let may = try await fixture.get("/may", method: method)
        #expect(may.status == 200 && may["cache-status"]?.contains("stale-if-error") == true, "\(method) \(may)")
        #expect(may.body == (method == "GET" ? "stored" : ""))
        for path in ["/may-not", "/must-not"] {
          let answer = try await fixture.get(path, method: method)
          #expect(answer.status == status && answer.body != "stored", "\(method) \(path)")
        }
      }
      #expect(fixture.origin.requestCount(path: "/may") == 3)
    }
  }

  @Test("a response that announces more than the limit is refused at once")
  func answerLimit() async throws {
    try await GatewayFixture.running {
      $0.gateway.origins[0].answerLimit = 1_000
    } _: { fixture in
      fixture.origin.serve("/a", Array(repeating: 65, count: 1_001), headers: Self.kept)
      let refused = try await fixture.get("/a")
      #expect(refused.status == 502 && refused.body.contains("exceeds the limit"), "\(refused)")
      fixture.origin.serve("/b", Array(repeating: 65, count: 1_000), headers: Self.kept)
      #expect(try await fixture.get("/b").body.count == 1_000)
    }
  }

  /// RFC 9111 §5.2.2.2, §5.2.2.8, §5.2.2.10.
  @Test(
    "a response with must-revalidate is a 504 while the origin is unreachable",
    arguments: [
      ("max-age=0, must-revalidate", 504), ("max-age=0, proxy-revalidate", 504), ("s-maxage=0", 504),
      ("no-cache", 502),
    ])
  func mustRevalidate(_ control: String, _ status: Int) async throws {
    try await GatewayFixture.running {
      $0.gateway.origins[0].patience = .init(failures: 2)
    } _: { fixture in
      fixture.origin.serve("/a", [65], etag: "\"1\"", headers: [.cacheControl: control])
      _ = try await fixture.get("/a")
      try await fixture.origin.refuseConnections()
      for method in ["GET", "HEAD"] {
        let answer = try await fixture.get("/a", method: method)
        #expect(answer.status == status, "\(method) \(answer)")
        #expect(method == "HEAD" || answer.body.contains("cannot be reached"))
      }
      // The origin rests now.
      #expect(try await fixture.get("/a").status == (status == 504 ? 504 : 503))
    }
  }

  @Test(
    "an origin with a rejected certificate is not asked again for a while",
    .enabled(if: NginxServer.isInstalled, "nginx is not installed"))
  func badCertificate() async throws {
    try await NginxServer.running(serving: ["a": Array("body".utf8)]) { server in
      try await GatewayFixture.running {
        $0.gateway.origins[0].url = PageURL(server.url(for: "/")) ?? $0.gateway.origins[0].url
        $0.gateway.origins[0].patience = .init(failures: 1, rest: .seconds(600), longestRest: .seconds(600))
      } _: { fixture in
        let first = try await fixture.get("/a")
        let second = try await fixture.get("/a")
        #expect(first.status == 502 && second.status == 503 && !fixture.isUp)
      }
    }
  }
}
