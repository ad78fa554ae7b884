import HTTPTypes
import PageKit
import PageTesting
import TestServers
import Testing

@testable import CacheGateway
@testable import RenderHost

@Suite(.timeLimit(.minutes(2)))
struct GatewayVersionTests {
  private static func link() throws -> HTTPField.Name { try #require(HTTPField.Name("Link")) }
  private static func sum() throws -> HTTPField.Name { try #require(HTTPField.Name("X-Sum")) }

  @Test("an HTTP/1.0 client gets neither chunks nor interim responses")
  func http10Clients() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", Array("body".utf8), headers: [.cacheControl: "no-store"])
      fixture.origin.always("/a", .informational(103, [try Self.link(): "</a.js>"], then: .chunked))
      let client = try RawClient(port: fixture.port)
      client.send("GET /a HTTP/1.0\r\nHost: h\r\n\r\n")
      let answer = try await client.readToEnd()
      #expect(!answer.contains(" 103 ") && !answer.contains("</a.js>"), "\(answer)")
      #expect(!answer.lowercased().contains("transfer-encoding"), "\(answer)")
      #expect(answer.contains(" 200 OK\r\n") && answer.hasSuffix("\r\n\r\nbody"), "\(answer)")
      #expect(fixture.origin.requests.first?.headers[.via] == "1.0 renderhost")
    }
  }

  @Test("a Host that an absolute target overrules is not forwarded")
  func overruledHost() throws {
    let host = try #require(HTTPField.Name("Host"))
    let head = HTTPRequest(
      method: .get, scheme: "https", authority: "a", path: "/", headerFields: [host: "b", .accept: "c"])
    let fields = GatewayFields.request(
      head, from: ForwardedFields(client: nil, host: "a", isSecure: true), .none, version: .http2)
    #expect(fields[host] == nil && fields[.accept] == "c" && fields[.via] == "2 renderhost")
  }

  @Test("each request on a connection has its own HTTP version")
  func versionPerRequest() async throws {
    try await GatewayFixture.running { fixture in
      // Of a shorter body the length is known before its response is sent.
      let content = [UInt8](repeating: UInt8(ascii: "x"), count: 200_000)
      fixture.origin.serve("/a", content, headers: [.cacheControl: "no-store"])
      fixture.origin.always("/a", .chunked)
      let client = try RawClient(port: fixture.port)
      client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /a HTTP/1.0\r\nHost: h\r\n\r\n")
      let answer = try await client.readToEnd()
      #expect(answer.contains("xx\r\n0\r\n\r\nHTTP/1."))
      #expect(answer.hasSuffix("\r\n\r\n" + String(decoding: content, as: UTF8.self)))
      #expect(fixture.origin.requests.map { $0.headers[.via] } == ["1.1 renderhost", "1.0 renderhost"])
    }
  }

  @Test("a client that closes the connection gets interim responses too")
  func interimHeadsAtClose() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", Array("body".utf8))
      fixture.origin.always("/a", .informational(103, [try Self.link(): "</a.js>"]))
      let client = try RawClient(port: fixture.port)
      client.send("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
      let answer = try await client.readToEnd()
      #expect(answer.hasPrefix("HTTP/1.1 103 ") && answer.hasSuffix("body"), "\(answer)")
    }
  }

  @Test("a client over TLS gets the whole answer", arguments: [("--http1.1", "1.1"), ("--http2", "2")])
  func clientOverTLS(_ option: String, _ version: String) async throws {
    try await GatewayFixture.secure { fixture in
      fixture.origin.serve("/a", Array("body".utf8), headers: [.cacheControl: "max-age=60"])
      fixture.origin.always("/a", .informational(103, [try Self.link(): "</a.js>"]))
      let url = "https://127.0.0.1:\(fixture.port)/a"
      let first = try await Tool.run("curl", "-sik", option, "-w", " %{http_version}", url)
      #expect(first.output.hasPrefix("HTTP/\(version) 103 ") && first.output.contains("</a.js>"), "\(first)")
      #expect(first.output.hasSuffix("body \(version)"), "\(first)")
      let again = try await Tool.run("curl", "-sik", option, "-w", " %{http_version}", url)
      #expect(again.output.hasPrefix("HTTP/\(version) 200 ") && again.output.hasSuffix("body \(version)"), "\(again)")
      #expect(again.output.lowercased().contains("via: 1.1 renderhost"))
      #expect(fixture.origin.requests.map { $0.headers[.via] } == ["\(version) renderhost"])
      let proto = try #require(HTTPField.Name("X-Forwarded-Proto"))
      #expect(fixture.origin.requests.first?.headers[proto] == "https")
    }
  }

  @Test("trailer fields over TLS are forwarded", arguments: ["--http1.1", "--http2"])
  func tlsTrailers(_ option: String) async throws {
    try await GatewayFixture.secure { fixture in
      fixture.origin.serve("/a", Array("body".utf8), headers: [.cacheControl: "no-store"])
      fixture.origin.always("/a", .trailers([try Self.sum(): "4"]))
      let answer = try await Tool.run("curl", "-sik", option, "https://127.0.0.1:\(fixture.port)/a")
      #expect(answer.output.lowercased().hasSuffix("bodyx-sum: 4\r\n"), "\(answer)")
    }
  }

  @Test("a request body over TLS is forwarded", arguments: ["--http1.1", "--http2"])
  func tlsBody(_ option: String) async throws {
    try await GatewayFixture.secure { fixture in
      fixture.origin.respond("/a") { OriginResponse(body: "\($0.bodySize)".utf8) }
      let body = String(repeating: "b", count: 100_000)
      let answer = try await Tool.run(
        "curl", "-sk", option, "--data-binary", body, "https://127.0.0.1:\(fixture.port)/a")
      #expect(answer.output == "100000")
    }
  }

  @Test("a body of unknown length is forwarded with any method")
  func unknownBodyLength() async throws {
    try await GatewayFixture.secure { fixture in
      fixture.origin.respond("/a") { OriginResponse(body: "\($0.method) \($0.bodySize)".utf8) }
      for method in ["DELETE", "PROPFIND"] {
        let answer = try await Tool.run(
          "curl", "-sk", "--http2", "-X", method, "-H", "Content-Length:", "--data-binary", "abcd",
          "https://127.0.0.1:\(fixture.port)/a")
        #expect(answer.output == "\(method) 4")
      }
    }
  }

  @Test("a POST without a body has Content-Length: 0")
  func emptyPost() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.respond("/a") { _ in OriginResponse(body: "".utf8) }
      _ = try await fixture.get("/a", method: "POST")
      let request = try #require(fixture.origin.requests.first)
      #expect(request.headers[.contentLength] == "0" && !request.headers.contains(.transferEncoding))
    }
  }

  @Test("the origin may use HTTP/2", .enabled(if: NginxServer.isInstalled, "nginx is not installed"))
  func originOverHTTP2() async throws {
    try await NginxServer.running(serving: ["a": Array("body".utf8)]) { server in
      try await GatewayFixture.running {
        $0.gateway.origins[0].url = PageURL(server.url(for: "/")) ?? $0.gateway.origins[0].url
        $0.gateway.origins[0].certificateAuthorities = server.certificateAuthority
      } _: { fixture in
        for _ in 0..<2 {
          let answer = try await fixture.get("/a")
          #expect(answer.status == 200 && answer.body == "body" && answer["via"] == "2 renderhost")
        }
        let put = try await fixture.get("/a", method: "PUT", body: "other")
        #expect(put.status == 204)
        #expect(try await fixture.get("/a").body == "other")
      }
      #expect(Set(try await server.accesses(3).map { $0[1] }) == ["HTTP/2.0"])
    }
  }
}
