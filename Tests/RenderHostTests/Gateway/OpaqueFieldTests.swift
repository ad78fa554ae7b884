import HTTPTransport
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import PageTesting
import TestServers
import Testing

@testable import CacheGateway
@testable import RenderHost
@testable import ServerKit

/// RFC 9110 §5.5: bytes of fields beyond ASCII are opaque.
@Suite(.timeLimit(.minutes(2)))
struct OpaqueFieldTests {
  /// Valid UTF-8, ISO 8859-1, Shift JIS, cut and overlong UTF-8, surrogates, and the escapes of opaque bytes.
  static let values: [[UInt8]] = [
    Array("né 日本 \u{1F600}".utf8), [0x6E, 0xE9], [0x93, 0xFA, 0x96, 0x7B], [0xC3], [0xE6, 0x97], [0xF0, 0x9F, 0x98],
    [0xC0, 0xAF], [0xE0, 0x80, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], Array("\u{FFFD}".utf8),
    Array("\u{10FE80}\u{10FEFF}".utf8), [0xF4, 0x8F, 0xBA], [0x80, 0xBF, 0xFF, 0xFE], Array(0x80...0xFF),
  ]

  @Test("an opaque text represents its bytes", arguments: values)
  func opaqueText(_ bytes: [UInt8]) {
    let text = OpaqueText.string(of: bytes)
    #expect(OpaqueText.bytes(of: text.utf8) == bytes && !text.contains("\u{FFFD}"))
    let isPlain = String(validating: bytes, as: UTF8.self).map {
      !$0.contains("\u{FFFD}") && !$0.contains("\u{10FE80}")
    }
    #expect(OpaqueText.hasEscapes(text) == (isPlain != true))
  }

  @Test("an opaque text may arrive in pieces", arguments: values)
  func opaquePieces(_ bytes: [UInt8]) {
    for border in 0...bytes.count {
      let (text, left) = OpaqueText.text(of: bytes[..<border], isWhole: false)
      #expect(left <= 3)
      let (rest, _) = OpaqueText.text(of: bytes[(border - left)...])
      #expect(text + rest == OpaqueText.text(of: bytes).text, "\(border)")
    }
  }

  @Test("bytes that are not UTF-8 become letters in readable texts")
  func utf8Letters() {
    #expect(OpaqueText.readable(OpaqueText.string(of: [0x6E, 0xE9, 0xFF])) == "néÿ")
    #expect(OpaqueText.readable("日本") == "日本")
  }

  private static let kept = "Cache-Control: max-age=60\r\nVary: X-Name\r\n"

  /// An origin that answers with the received value of `X-Name`.
  private func echoing(
    isSecure: Bool = false, _ body: (RawOrigin, GatewayFixture) async throws -> Void
  ) async throws {
    try await RawOrigin.running { received in
      let request = received[(received.lastRange(of: Array(" HTTP/1.1\r\n".utf8))?.lowerBound ?? 0)...]
      // The head and the body may arrive separately.
      guard let end = request.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound else { return nil }
      let length = request[..<end].firstRange(of: Array("\r\nContent-Length: ".utf8)).flatMap {
        Int(String(decoding: request[$0.upperBound...].prefix { $0 != 13 }, as: UTF8.self))
      }
      guard request[end...].count == length ?? 0 else { return nil }
      // HTTP/2 has lowercase names.
      let name = ["\r\nX-Name: ", "\r\nx-name: "].lazy.compactMap { request.firstRange(of: Array($0.utf8)) }.first
      let value: [UInt8] =
        name.map { Array(request[$0.upperBound...].prefix { $0 != 13 }) } ?? []
      let head = "HTTP/1.1 200 OK\r\n\(Self.kept)Content-Length: \(value.count)\r\nX-Echo: "
      return (Array(head.utf8) + value + Array("\r\n\r\n".utf8) + value, false)
    } _: { origin in
      func change(_ settings: inout Settings) {
        settings.gateway.origins[0].url = origin.url ?? settings.gateway.origins[0].url
      }
      if isSecure {
        try await GatewayFixture.secure(change) { try await body(origin, $0) }
      } else {
        try await GatewayFixture.running(change) { try await body(origin, $0) }
      }
    }
  }

  private static func request(_ value: [UInt8], _ more: String = "Connection: close\r\n") -> [UInt8] {
    Array("GET /a HTTP/1.1\r\nHost: h\r\n\(more)X-Name: ".utf8) + value + Array("\r\n\r\n".utf8)
  }

  private static func answer(_ value: [UInt8]) -> [UInt8] {
    Array("\r\nX-Echo: ".utf8) + value + Array("\r\n".utf8)
  }

  @Test("bytes of fields pass unchanged in both directions, and from the cache")
  func opaqueBytes() async throws {
    try await echoing { origin, fixture in
      for value in Self.values {
        for round in 0..<2 {
          let client = try RawClient(port: fixture.port)
          client.send(Self.request(value))
          let answer = try await client.bytesToEnd()
          #expect(answer.contains(Self.answer(value)) && answer.ends(with: value), "\(value) \(round)")
        }
      }
      let asked = origin.connections.read { $0.map(\.received).joined() }
      #expect(Array(asked).ranges(of: Array("GET /a ".utf8)).count == Self.values.count)
    }
  }

  @Test("bytes pass unchanged with any division of the request", arguments: values)
  func splitRequests(_ value: [UInt8]) throws {
    let request = Self.request(value, "")
    let body = Array("POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n".utf8) + [0xE9, 10, 0xFF]
    let all = request + body + request
    for border in stride(from: 0, to: all.count, by: 1) {
      let channel = EmbeddedChannel()
      let pipeline = channel.pipeline.syncOperations
      try pipeline.addHandlers([HTTPResponseEncoder(), ByteToMessageHandler(HTTPRequestDecoder())])
      try RequestBytesHandler.add(to: pipeline)
      for piece in [all[..<border], all[border...]] where !piece.isEmpty {
        try channel.writeInbound(ByteBuffer(bytes: piece))
      }
      var names: [[UInt8]] = []
      var content: [UInt8] = []
      while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
        switch part {
        case .head(let head): names += head.headers["x-name"].map { OpaqueText.bytes(of: $0.utf8) }
        case .body(let bytes): content += bytes.readableBytesView
        case .end: break
        }
      }
      #expect(names == [value, value] && content == [0xE9, 10, 0xFF], "\(border)")
      _ = try channel.finish()
    }
  }

  @Test("bytes of fields after a body pass unchanged")
  func bytesAfterBody() async throws {
    try await echoing { origin, fixture in
      let client = try RawClient(port: fixture.port)
      let body = Array("POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n".utf8) + [0xE9, 10, 0xFF, 13, 10]
      client.send(Self.request([0xE9], "") + body + Self.request([0xE8]))
      let answer = try await client.bytesToEnd()
      #expect(answer.contains(Self.answer([0xE9])) && answer.contains(Self.answer([0xE8])))
      try await origin.wait { $0.contains { $0.received.ends(with: [0xE9, 10, 0xFF, 13, 10]) } }
    }
  }

  @Test("a chunked body passes unchanged")
  func chunkedBody() async throws {
    try await RawOrigin.running { received in
      received.ends(with: Array("0\r\n\r\n".utf8))
        ? (Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8), false) : nil
    } _: { origin in
      try await GatewayFixture.running {
        $0.gateway.origins[0].url = origin.url ?? $0.gateway.origins[0].url
      } _: { fixture in
        let client = try RawClient(port: fixture.port)
        client.send("POST /b HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n")
        client.send(Array("5\r\n".utf8) + [0xE9, 10, 0xFF, 13, 10] + Array("\r\n0\r\n\r\n".utf8))
        #expect(try await client.readToEnd().hasPrefix("HTTP/1.1 200"))
        #expect(origin.connections.read { $0.contains { $0.received.contains([0xE9, 10, 0xFF, 13, 10]) } })
      }
    }
  }

  @Test("bytes of fields pass unchanged over HTTP/2 too")
  func http2Bytes() async throws {
    try await echoing(isSecure: true) { origin, fixture in
      // Longer texts begin with more than a byte of length.
      for value in Self.values where value.count < 127 {
        let client = try await SecureClient.connected(port: fixture.port)
        func text(_ bytes: [UInt8]) -> [UInt8] { [UInt8(bytes.count)] + bytes }
        func field(_ name: String, _ value: [UInt8]) -> [UInt8] { [0] + text(Array(name.utf8)) + text(value) }
        let fields =
          field(":method", Array("GET".utf8)) + field(":scheme", Array("https".utf8))
          + field(":authority", Array("h".utf8)) + field(":path", Array("/a".utf8)) + field("x-name", value)
        let head: [UInt8] = [0, 0, UInt8(fields.count), 1, 5, 0, 0, 0, 1]
        client.send(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0] + head + fields)
        // In the field, and in the body.
        try await client.received.wait(within: .seconds(20)) { $0.isClosed || $0.bytes.ranges(of: value).count > 1 }
        #expect(client.received.read { $0.bytes.ranges(of: value).count } > 1, "\(value)")
        client.close()
      }
      #expect(origin.connections.read { Array($0.map(\.received).joined()) }.contains(Self.values[3]))
    }
  }
}
