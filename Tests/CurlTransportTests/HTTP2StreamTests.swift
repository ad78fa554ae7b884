import CurlTransport
import HTTPTransport
import HTTPTypes
import PageTesting
import TestServers
import Testing

@Suite(.enabled(if: NginxServer.isInstalled, "nginx is not installed"), .timeLimit(.minutes(2)))
struct HTTP2StreamTests {
  private static let chunk = SeededContent.bytes(100_000)

  private static func transport(to server: NginxServer, shares: Bool = true) throws -> CurlTransport {
    var configuration = CurlTransport.Configuration(certificateAuthorities: server.certificateAuthority)
    configuration.sharesConnections = shares
    return try CurlTransport(configuration)
  }

  private static func put(_ server: NginxServer, _ producer: ChunkProducer, length: Int64?) -> TransportRequest {
    var request = server.request("/new").streaming(producer, length: length)
    request.head.method = .put
    return request
  }

  @Test(arguments: [Int64(900_000), nil])
  func aStreamArrivesByteForByte(length: Int64?) async throws {
    try await NginxServer.running(serving: [:]) { server in
      let transport = try Self.transport(to: server)
      let producer = ChunkProducer(9, of: Self.chunk)
      let answer = try await transport.answer(to: Self.put(server, producer, length: length))
      #expect(answer.head.status == .created)
      #expect(answer.summary.httpVersion == "2")
      let stored = try await transport.answer(to: server.request("/new"))
      expectSame(stored.body, (0..<9).flatMap { _ in Self.chunk })
    }
  }

  @Test("an error of the producer leaves the body incomplete", arguments: [Int64(700_000), 600_000, nil])
  func failedProducer(length: Int64?) async throws {
    try await NginxServer.running(serving: [:]) { server in
      let transport = try Self.transport(to: server)
      let producer = ChunkProducer { number in
        // More than this side buffers, so that a part has reached the server.
        if number == 6 { throw ProducerFailure() }
        return Self.chunk
      }
      let request = Self.put(server, producer, length: length)
      #expect(
        try await transport.failure(of: request) == .requestBody(url: request.url, reason: "the client has left"))
      // The server notices at once.
      #expect(try await server.accesses(1).count == 1)
      #expect(try await transport.answer(to: server.request("/new")).head.status == .notFound)
    }
  }

  @Test("a refusal arrives while the body is being sent", arguments: [Int64(500_000_000), nil])
  func refusal(length: Int64?) async throws {
    try await NginxServer.running(serving: [:]) { server in
      let transport = try Self.transport(to: server)
      let producer = ChunkProducer(5000, of: Self.chunk)
      let answer = try await transport.answer(to: Self.put(server, producer, length: length))
      #expect(answer.head.status == .contentTooLarge)
      #expect(!answer.body.isEmpty)
      #expect(producer.asked < 2500)
    }
  }

  @Test func aTargetIsSentByteForByte() async throws {
    try await NginxServer.running(serving: ["a": [7]]) { server in
      let transport = try Self.transport(to: server)
      #expect(try await transport.answer(to: server.request("/x/../a?b#c")).body == [7])
    }
  }

  @Test("an unread body on a connection of its own waits at the server")
  func unreadBody() async throws {
    let big = SeededContent.bytes(31 << 20)
    let small = SeededContent.bytes(100_000, seed: 2)
    try await NginxServer.running(serving: ["big": big, "small": small]) { server in
      let transport = try Self.transport(to: server, shares: false)
      let unread = try await transport.send(server.request("/big"))
      for _ in 0..<100 { expectSame(try await transport.answer(to: server.request("/small")).body, small) }
      let accesses = try await server.accesses(100)
      #expect(accesses.allSatisfy { $0[2] == "/small" && $0[1] == "HTTP/2.0" })
      // The other responses arrive one after the other on a second connection.
      #expect(Set(accesses.map { $0[0] }).count == 1)
      expectSame(try await unread.body.collect(upTo: .max), big)
    }
  }
}
