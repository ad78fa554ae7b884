import HTTPTypes
import NIOCore
import PageKit
import PageTesting
import TestServers
import Testing

@testable import CacheGateway
@testable import RenderHost
@testable import ServerKit

/// Web sockets pass through the gateway, within its limits.
@Suite(.timeLimit(.minutes(2)))
struct SocketTests {
  /// RFC 6455 §1.3.
  private static let accept = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

  private static func request(_ path: String = "/chat") -> String {
    "GET \(path) HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
      + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nX-Mine: 1\r\n\r\n"
  }

  private static let agreeing = agreement()

  private static func agreement(_ lines: String = "Upgrade: websocket\r\nConnection: Upgrade\r\n\(accept)") -> [UInt8] {
    Array("HTTP/1.1 101 Switching Protocols\r\n\(lines)\r\n\r\n".utf8)
  }

  private static let end = Array("\r\n\r\n".utf8)

  /// An origin that answers the opening request, and then sends only the bytes of a test.
  private func running(
    answer: [UInt8] = agreeing, _ change: @escaping (inout OriginSettings) -> Void = { _ in },
    _ body: (RawOrigin, GatewayFixture) async throws -> Void
  ) async throws {
    try await RawOrigin.running { received in
      received.ends(with: Self.end) ? (answer, false) : nil
    } _: { origin in
      try await GatewayFixture.running { settings in
        settings.gateway.origins[0].url = origin.url ?? settings.gateway.origins[0].url
        change(&settings.gateway.origins[0])
      } _: {
        try await body(origin, $0)
      }
    }
  }

  @Test("bytes pass unchanged in both directions")
  func tunnel() async throws {
    try await running { origin, fixture in
      let client = try RawClient(port: fixture.port)
      client.send(Self.request("/chat?a=%7E"))
      let head = try await client.read(until: "\r\n\r\n")
      #expect(head.hasPrefix("HTTP/1.1 101 ") && head.contains(Self.accept), "\(head)")
      let lines = head.lowercased().components(separatedBy: "\r\n")
      #expect(lines.contains("upgrade: websocket") && lines.contains("connection: upgrade"))
      #expect(!lines.contains { $0.hasPrefix("transfer-encoding") || $0.hasPrefix("content-length") })
      let asked = origin.connections.read { $0[0].text }
      #expect(asked.hasPrefix("GET /chat?a=%7E HTTP/1.1\r\nHost: 127.0.0.1:\(origin.port)\r\n"), "\(asked)")
      #expect(
        asked.contains("X-Mine: 1\r\n") && asked.contains("Via: 1.1 renderhost") && asked.contains("X-Forwarded-For"))
      // A text that looks like a request is not one here.
      let sent = Array("GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n".utf8) + [0, 0xFF, 0xE9, 10]
      client.send(sent)
      try await origin.wait { $0[0].received.ends(with: sent) }
      #expect(origin.connections.read(\.count) == 1)
      try await origin.send([0x81, 2, 0x48, 0x69])
      #expect(try await client.read(until: "Hi").hasSuffix("Hi"))
      try await origin.close()
      #expect(try await client.bytesToEnd().isEmpty)
      #expect(fixture.answers(.pass) == 1)
    }
  }

  @Test("a client that ended its side still gets the origin's bytes")
  func halfClose() async throws {
    try await running { origin, fixture in
      let client = try RawClient(port: fixture.port)
      client.send(Self.request())
      _ = try await client.read(until: "\r\n\r\n")
      client.send("last")
      client.closeOutput()
      try await origin.wait { $0[0].text.hasSuffix("last") && $0[0].hasEnded }
      try await origin.send(Array("bye".utf8))
      try await origin.close()
      #expect(try await client.readToEnd() == "bye")
    }
  }

  @Test("a disconnect of the client ends the origin's connection")
  func clientDisconnect() async throws {
    try await running { origin, fixture in
      var client: RawClient? = try RawClient(port: fixture.port)
      client?.send(Self.request())
      _ = try await client?.read(until: "\r\n\r\n")
      client?.reset()
      client = nil
      try await origin.wait { $0[0].isClosed || $0[0].hasEnded }
    }
  }

  @Test("an earlier request on the connection is answered first")
  func earlierRequest() async throws {
    try await RawOrigin.running { received in
      guard received.ends(with: Self.end) else { return nil }
      let isSocket = String(decoding: received, as: UTF8.self).lowercased().contains("upgrade: websocket")
      return (isSocket ? Self.agreeing : Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc".utf8), false)
    } _: { origin in
      try await GatewayFixture.running {
        $0.gateway.origins[0].url = origin.url ?? $0.gateway.origins[0].url
      } _: { fixture in
        let client = try RawClient(port: fixture.port)
        client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n" + Self.request() + "early")
        let answers = try await client.read(until: Self.accept)
        #expect(answers.hasPrefix("HTTP/1.1 200 OK") && answers.contains("abcHTTP/1.1 101 "), "\(answers)")
        try await origin.wait { $0.contains { $0.text.hasSuffix("early") } }
      }
    }
  }

  @Test(
    "after a declined upgrade nothing more is sent to the origin",
    arguments: [
      "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone",
      "HTTP/1.1 426 Upgrade Required\r\nTransfer-Encoding: chunked\r\nSec-WebSocket-Version: 13\r\n\r\n4\r\nnone\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnone",
    ])
  func declinedUpgrade(_ answer: String) async throws {
    try await running(answer: Array(answer.utf8)) { origin, fixture in
      let client = try RawClient(port: fixture.port)
      client.send(Self.request() + "GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n")
      let found = try await client.readToEnd()
      #expect(found.hasPrefix(String(answer.prefix { $0 != "\r\n" })), "\(found)")
      #expect(found.contains("Connection: close") && found.contains("none"))
      #expect(found.contains("Cache-Status: PageKit; fwd=bypass") && found.contains("\r\nDate: "))
      #expect(origin.connections.read { $0.count == 1 && !$0[0].text.contains("hidden") })
    }
  }

  /// RFC 6455 §4.1.
  @Test(
    "an invalid 101 is a 502",
    arguments: [
      "Upgrade: websocket\r\nConnection: Upgrade",
      "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: wrong",
      "Upgrade: other\r\nConnection: Upgrade\r\n\(accept)", accept,
    ])
  func invalidUpgrade(_ lines: String) async throws {
    try await running(answer: Self.agreement(lines)) { origin, fixture in
      let client = try RawClient(port: fixture.port)
      client.send(Self.request() + "GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n")
      let found = try await client.readToEnd()
      #expect(found.hasPrefix("HTTP/1.1 502 ") && found.contains("Connection: close"), "\(found)")
      try await origin.wait { $0[0].isClosed || $0[0].hasEnded }
      #expect(!origin.connections.read { $0[0].text.contains("hidden") })
    }
  }

  @Test("a socket takes a place among the connections")
  func socketPlace() async throws {
    try await running {
      ($0.connections, $0.waiting) = (1, 0)
    } _: { origin, fixture in
      let client = try RawClient(port: fixture.port)
      client.send(Self.request())
      _ = try await client.read(until: "\r\n\r\n")
      #expect(try await fixture.get("/a").status == 503)
      let second = try RawClient(port: fixture.port)
      second.send(Self.request())
      #expect(try await second.readToEnd().hasPrefix("HTTP/1.1 503 "))
      try await origin.close()
      _ = try await client.readToEnd()
      try await eventually("the place is free") {
        let third = try RawClient(port: fixture.port)
        third.send(Self.request())
        return try await third.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 101 ")
      }
    }
  }

  @Test("a socket that is silent too long ends")
  func silentSocket() async throws {
    try await running {
      $0.idleTime = .seconds(1)
    } _: { origin, fixture in
      let client = try RawClient(port: fixture.port)
      client.send(Self.request())
      #expect(try await client.readToEnd().hasPrefix("HTTP/1.1 101 "))
      try await origin.wait { $0[0].isClosed || $0[0].hasEnded }
    }
  }

  @Test("a silent origin is a 504")
  func silentOrigin() async throws {
    try await RawOrigin.running { _ in
      nil
    } _: { origin in
      try await GatewayFixture.running {
        ($0.gateway.origins[0].url, $0.gateway.origins[0].idleTime) = (
          origin.url ?? $0.gateway.origins[0].url, .seconds(1)
        )
      } _: { fixture in
        let client = try RawClient(port: fixture.port)
        client.send(Self.request())
        let found = try await client.readToEnd()
        #expect(found.hasPrefix("HTTP/1.1 504 "), "\(found)")
      }
    }
  }

  @Test("an unreachable origin rests")
  func restingOrigin() async throws {
    try await GatewayFixture.running {
      $0.gateway.origins[0].patience = .init(failures: 1, rest: .seconds(600), longestRest: .seconds(600))
    } _: { fixture in
      try await fixture.origin.refuseConnections()
      for status in [502, 503] {
        let client = try RawClient(port: fixture.port)
        client.send(Self.request())
        let found = try await client.readToEnd()
        #expect(found.hasPrefix("HTTP/1.1 \(status) "), "\(found)")
      }
      #expect(!fixture.isUp)
    }
  }

  @Test("many bytes reach a slow reader")
  func slowReader() async throws {
    try await running { origin, fixture in
      let client = try RawClient(port: fixture.port)
      client.send(Self.request())
      _ = try await client.read(until: "\r\n\r\n")
      let content = [UInt8](repeating: 0x61, count: 32 << 20)
      async let sending: Void = origin.send(content)
      client.closeOutput()
      try await origin.wait { $0[0].hasEnded }
      async let received = client.bytesToEnd()
      try await sending
      try await origin.close()
      #expect(try await received.count == content.count)
    }
  }

  @Test("an open socket does not delay the shutdown")
  func socketAtStop() async throws {
    try await running { _, fixture in
      let client = try RawClient(port: fixture.port)
      client.send(Self.request())
      _ = try await client.read(until: "\r\n\r\n")
      await fixture.stop()
      #expect(try await client.readToEnd().isEmpty)
    }
  }

  @Test("a real web socket server works through the gateway", arguments: [false, true])
  func realServer(_ isSecure: Bool) async throws {
    let folder = try TemporaryDirectory()
    let files = isSecure ? try await TLSFiles.made("localhost", in: folder) : nil
    try await SocketServer.running(certificate: files.map { ($0.certificate, $0.privateKey) }) { server in
      try await GatewayFixture.running {
        let url = "http\(isSecure ? "s" : "")://\(isSecure ? "localhost" : "127.0.0.1"):\(server.port)/"
        $0.gateway.origins[0].url = PageURL(url) ?? $0.gateway.origins[0].url
        $0.gateway.origins[0].certificateAuthorities = files?.certificate
      } _: { fixture in
        let client = try RawClient(port: fixture.port)
        client.send(Self.request("/echo"))
        let head = try await client.read(until: "\r\n\r\n")
        #expect(head.hasPrefix("HTTP/1.1 101 "), "\(head)")
        // A text, masked with zeros.
        client.send([0x81, 0x82, 0, 0, 0, 0, 0x48, 0x69])
        #expect(try await client.read(until: "Hi").hasSuffix("Hi"))
      }
    }
  }
}

struct BytePipeTests {
  @Test("a channel is not read while too many bytes wait")
  func pausedReading() async throws {
    let pipe = BytePipe()
    let calls = Monitor(0)
    let piece = ByteBuffer(repeating: 0, count: BytePipe.limit)
    #expect(pipe.hasRoom { calls.change { $0 += 1 } })
    pipe.receive(piece)
    #expect(!pipe.hasRoom { calls.change { $0 += 1 } })
    #expect(try await pipe.next()?.readableBytes == BytePipe.limit)
    #expect(calls.read { $0 } == 1 && pipe.hasRoom {})
  }

  @Test("buffered bytes can be taken after the end")
  func bytesAfterEnd() async throws {
    let pipe = BytePipe()
    pipe.receive(ByteBuffer(string: "a"))
    pipe.finish(.failure(ChannelError.eof))
    pipe.receive(ByteBuffer(string: "b"))
    #expect(try await pipe.next() == ByteBuffer(string: "a"))
    await #expect(throws: ChannelError.self) { try await pipe.next() }
  }

  @Test("a waiter is resumed by bytes, by the end and by cancellation")
  func waiters() async throws {
    let pipe = BytePipe()
    async let first = pipe.next()
    pipe.receive(ByteBuffer(string: "a"))
    #expect(try await first == ByteBuffer(string: "a"))
    let waiting = Task { try await pipe.next() }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    pipe.finish()
    #expect(try await pipe.next() == nil)
  }
}
