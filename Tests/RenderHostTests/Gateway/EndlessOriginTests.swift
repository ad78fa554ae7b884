import HTTPTypes
import PageTesting
import TestServers
import Testing

@testable import CacheGateway
@testable import RenderHost

/// Bodies that are larger than any client reads.
@Suite(.timeLimit(.minutes(2)))
struct EndlessOriginTests {
  private static let size = 50 << 20

  @Test("a client that does not read slows only its own origin connection")
  func backpressure() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/big", [UInt8](repeating: 65, count: Self.size), headers: [.cacheControl: "no-store"])
      fixture.origin.serve("/small", Array("small".utf8), headers: [.cacheControl: "no-store"])
      let client = try RawClient(port: fixture.port)
      client.send("GET /big HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await client.read(until: "\r\n\r\n")
      for _ in 0..<20 { #expect(try await fixture.get("/small").body == "small") }
      #expect(fixture.origin.bytesSent(path: "/big") < Self.size / 2)
      #expect(fixture.origin.completedResponses(path: "/big") == 0)
      withExtendedLifetime(client) {}
    }
  }

  @Test("an abandoned response is cancelled at the origin", arguments: ["no-store", "max-age=60"])
  func abandonedResponse(_ control: String) async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/big", [UInt8](repeating: 65, count: Self.size), headers: [.cacheControl: control])
      fixture.origin.always("/big", .drip(bytesPerSecond: 100_000))
      var client: RawClient? = try RawClient(port: fixture.port)
      client?.send("GET /big HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await client?.read(until: "\r\n\r\nAAA")
      client = nil
      try await fixture.origin.waitForOpenConnections(0)
      #expect(fixture.origin.completedResponses(path: "/big") == 0)
      fixture.origin.always("/big", .normal)
      fixture.origin.serve("/big", Array("whole".utf8), headers: [.cacheControl: control])
      #expect(try await fixture.get("/big").body == "whole")
    }
  }
}
