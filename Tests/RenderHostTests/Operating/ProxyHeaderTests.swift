import Foundation
import Hummingbird
import PageTesting
import TestServers
import Testing

@testable import RenderHost
@testable import ServerKit

struct ProxyHeaderTests {
  private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10]
  static func binary(_ command: UInt8, _ family: UInt8, _ rest: [UInt8]) -> [UInt8] {
    signature + [command, family, UInt8(rest.count >> 8), UInt8(rest.count & 255)] + rest
  }

  private static let four: [UInt8] = [198, 51, 100, 7, 10, 0, 0, 1, 0x30, 0x39, 0, 80]
  private static let six = [UInt8](repeating: 0, count: 15) + [1] + [UInt8](repeating: 0, count: 15) + [2, 0, 1, 0, 80]

  @Test(
    "a line of version 1 names its client",
    arguments: [
      ("PROXY TCP4 198.51.100.7 10.0.0.1 12345 80\r\n", "198.51.100.7"),
      ("PROXY TCP6 2001:db8::7 ::1 65535 0\r\n", "2001:db8::7"), ("PROXY UNKNOWN\r\n", nil),
      ("PROXY UNKNOWN a b c d e\r\n", nil),
    ])
  func lines(_ line: String, _ client: String?) {
    let bytes = Array(line.utf8)
    let whole = ProxyHeader.whole(client: client.flatMap { HostAddress($0) }, length: bytes.count)
    #expect(ProxyHeader(bytes + Array("GET".utf8)) == whole)
    for count in bytes.indices { #expect(ProxyHeader(Array(bytes[..<count])) == .incomplete, "\(count)") }
  }

  @Test("a header of version 2 names its client")
  func binaries() {
    let rows: [([UInt8], String?)] = [
      (Self.binary(0x21, 0x11, Self.four), "198.51.100.7"), (Self.binary(0x21, 0x21, Self.six), "::1"),
      (Self.binary(0x21, 0x11, Self.four + [4, 0, 1, 0]), "198.51.100.7"),
      (Self.binary(0x20, 0x11, Self.four), nil), (Self.binary(0x20, 0, []), nil), (Self.binary(0x21, 0, []), nil),
      (Self.binary(0x21, 0x31, [UInt8](repeating: 0, count: 216)), nil), (Self.binary(0x21, 0x12, Self.four), nil),
      (Self.binary(0x21, 0x11, Self.four + [UInt8](repeating: 0, count: 4084)), "198.51.100.7"),
    ]
    for (bytes, client) in rows {
      let whole = ProxyHeader.whole(client: client.flatMap { HostAddress($0) }, length: bytes.count)
      #expect(ProxyHeader(bytes + [0]) == whole)
      for count in bytes.indices { #expect(ProxyHeader(Array(bytes[..<count])) == .incomplete) }
    }
  }

  @Test("anything else is malformed")
  func malformed() {
    let lines = [
      "GET / HTTP/1.1\r\n", "P ", "PROXY  TCP4 1.1.1.1 1.1.1.1 1 1\r\n", "PROXY TCP4 1.1.1.1 1.1.1.1 1 1\n",
      "PROXY TCP4 1.1.1.1 1.1.1.1 1\r\n", "PROXY TCP4 1.1.1.1 1.1.1.1 1 65536\r\n",
      "PROXY TCP4 1.1.1.1 1.1.1.1 01 1\r\n", "PROXY TCP4 1.1.1.1 1.1.1.1 +1 1\r\n", "PROXY TCP4 ::1 ::1 1 1\r\n",
      "PROXY TCP6 1.1.1.1 1.1.1.1 1 1\r\n", "PROXY TCP6 fe80::1%lo ::1 1 1\r\n", "PROXY TCP4 1.1.1 1.1.1.1 1 1\r\n",
      "PROXY TCP5 1.1.1.1 1.1.1.1 1 1\r\n", "PROXY \r\n", "PROXY UNKNOWN" + String(repeating: " ", count: 93) + "\r\n",
    ]
    for line in lines { #expect(ProxyHeader(Array(line.utf8)) == .malformed, "\(line)") }
    let binaries = [
      Self.binary(0x11, 0x11, Self.four), Self.binary(0x22, 0x11, Self.four), Self.binary(0x21, 0x41, Self.four),
      Self.binary(0x21, 0x13, Self.four), Self.binary(0x21, 0x11, Array(Self.four.dropLast())),
      Self.binary(0x21, 0x21, Self.four), Self.signature + [0x21, 0x11, 0x10, 0x01],
      [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 13],
    ]
    for bytes in binaries { #expect(ProxyHeader(bytes) == .malformed, "\(bytes)") }
  }
}

/// Proxies in front of a host.
@Suite(.timeLimit(.minutes(2)))
struct ProxyConnectionTests {
  private func host(
    _ ranges: [String], reading listeners: Set<ServerSettings.ProxiedListener> = [.listen],
    _ change: (inout Settings) -> Void = { _ in }
  ) async throws -> LiveHost {
    var settings = Settings()
    settings.proxies = TrustedProxies(ranges.compactMap { AddressRange($0) })
    settings.proxyListeners = listeners
    change(&settings)
    return try await LiveHost(settings) { router in router.get("/me") { _, context in context.client } }
  }

  private static func request(_ fields: String = "") -> String {
    "GET /me HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(fields)\r\n"
  }

  private func answer(_ port: Int, _ pieces: [String]) async throws -> String {
    let client = try RawClient(port: port)
    for piece in pieces { client.send(piece) }
    return try await client.readToEnd()
  }

  @Test("the client of a PROXY header is the client, and the bytes after it are its request")
  func client() async throws {
    let host = try await host(["127.0.0.0/8"])
    let line = "PROXY TCP4 198.51.100.7 127.0.0.1 12345 80\r\n"
    #expect(try await answer(host.port, [line + Self.request()]).hasSuffix("198.51.100.7"))
    #expect(
      try await answer(host.port, ["PROXY TC", "P4 198.51.100.7 127.0.0.1 1 2\r", "\n", Self.request()])
        .hasSuffix("198.51.100.7"))
    let other = "X-Forwarded-For: 203.0.113.1\r\n"
    // It is not trusted itself, and so names nobody.
    #expect(try await answer(host.port, [line + Self.request(other)]).hasSuffix("198.51.100.7"))
    // Its proxy may be behind another one.
    let near = "PROXY TCP4 127.0.0.9 127.0.0.1 1 2\r\n"
    #expect(try await answer(host.port, [near + Self.request(other)]).hasSuffix("203.0.113.1"))
    #expect(try await answer(host.port, ["PROXY UNKNOWN\r\n" + Self.request(other)]).hasSuffix("203.0.113.1"))
    try await host.stop()
  }

  @Test("a connection of a trusted proxy without a PROXY header is closed, and so is a malformed one")
  func malformed() async throws {
    let host = try await host(["127.0.0.0/8"])
    for start in ["", "PROXY TCP4 a b c d\r\n", "PROXY TCP4 " + String(repeating: "1", count: 200)] {
      #expect(try await answer(host.port, [start + Self.request()]) == "")
    }
    try await host.stop()
  }

  @Test("a PROXY header of others is no request")
  func others() async throws {
    let host = try await host(["192.0.2.0/24"])
    let line = "PROXY TCP4 198.51.100.7 127.0.0.1 12345 80\r\n"
    #expect(try await answer(host.port, [line + Self.request()]).hasPrefix("HTTP/1.1 501 "))
    #expect(try await answer(host.port, [Self.request("X-Forwarded-For: 203.0.113.1\r\n")]).hasSuffix("127.0.0.1"))
    try await host.stop()
  }

  @Test("without PROXY headers a trusted proxy names its clients in fields")
  func fields() async throws {
    let host = try await host(["127.0.0.1"], reading: [])
    let answer = try await answer(host.port, [Self.request("X-Forwarded-For: 1.1.1.1, 203.0.113.1\r\n")])
    #expect(answer.hasSuffix("203.0.113.1"))
    try await host.stop()
  }

  @Test("connections are counted by the address in the PROXY header, and those of a proxy not at all")
  func limits() async throws {
    let host = try await host(["127.0.0.0/8"]) { $0.limits.connectionsPerAddress = 1 }
    func line(_ address: String) -> String { "PROXY TCP4 \(address) 127.0.0.1 1 2\r\n" }
    let open = try RawClient(port: host.port)
    open.send(line("198.51.100.7") + "GET /me HTTP/1.1\r\nHost: localhost\r\n\r\n")
    _ = try await open.read(until: "198.51.100.7")
    #expect(try await answer(host.port, [line("198.51.100.7") + Self.request()]).hasPrefix("HTTP/1.1 429 "))
    #expect(try await answer(host.port, [line("198.51.100.8") + Self.request()]).hasSuffix("198.51.100.8"))
    let checks = try (0..<3).map { _ in
      let check = try RawClient(port: host.port)
      check.send("PROXY UNKNOWN\r\nGET /me HTTP/1.1\r\nHost: localhost\r\n\r\n")
      return check
    }
    for check in checks { _ = try await check.read(until: "127.0.0.1") }
    try await host.stop()
  }

  @Test("a PROXY header that does not end is closed at the time limit of a head")
  func slowHeader() async throws {
    let host = try await host(["127.0.0.0/8"]) { $0.limits.headTime = .milliseconds(300) }
    #expect(try await answer(host.port, ["PROXY TCP4 198"]) == "")
    try await host.stop()
  }

  @Test("a PROXY header comes before TLS")
  func tls() async throws {
    let folder = try TemporaryDirectory()
    let files = try await TLSFiles.made("one", in: folder)
    let host = try await host(["127.0.0.0/8"]) {
      ($0.certificate, $0.privateKey) = (files.certificate, files.privateKey)
    }
    for version in ["--http2", "--http1.1"] {
      let answer = try await Tool.run(
        "curl", "-sk", version, "--haproxy-protocol", "-H", "X-Forwarded-For: 203.0.113.1",
        "https://127.0.0.1:\(host.port)/me")
      // curl names its own address, which is a trusted proxy's.
      #expect(answer.output == "203.0.113.1", "\(answer)")
    }
    try await host.stop()
  }
}
