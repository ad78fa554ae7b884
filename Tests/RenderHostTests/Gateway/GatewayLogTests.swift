import Foundation
import HTTPTypes
import PageTesting
import Testing

@testable import CacheGateway
@testable import RenderHost
@testable import ServerKit

/// The log lines, the metrics, and the fields for the origin of a request.
@Suite(.timeLimit(.minutes(2)))
struct GatewayLogTests {
  private static func answered(_ lines: Monitor<[Data]>) throws -> [[String: Any]] {
    try lines.read { $0 }.compactMap { try JSONSerialization.jsonObject(with: $0) as? [String: Any] }
      .filter { $0["message"] as? String == "Answered" }
  }

  @Test("each request has a log line with host, query, result, origin and protocol")
  func accessLog() async throws {
    let lines = Monitor<[Data]>([])
    try await GatewayFixture.running({ _ in }, lines: lines) { fixture in
      fixture.origin.serve("/a?b=c&d", [65], headers: [.cacheControl: "max-age=60"])
      for _ in 0..<2 { _ = try await fixture.get("/a?b=c&d") }
      _ = try await fixture.get("/a#b")
      try await fixture.origin.refuseConnections()
      _ = try await fixture.get("/other")
      try await lines.wait(within: .seconds(60), until: { $0.count >= 5 })
    }
    let found = try Self.answered(lines)
    #expect(found.map { $0["cache"] as? String } == ["miss", "hit", nil, "fault"])
    #expect(found.map { $0["query"] as? String } == ["b=c&d", "b=c&d", nil, nil])
    #expect(found.map { $0["origin"] as? String } == ["origin", "origin", nil, "origin"])
    #expect(found.allSatisfy { $0["host"] as? String == "api.example.com" && $0["protocol"] as? String == "HTTP/1.1" })
    #expect(found.map { ($0["trace"] as? String)?.count } == [32, 32, nil, 32])
  }

  @Test("behind a trusted proxy the lines have the client's address, also of answers that are replayed")
  func forwardedAddress() async throws {
    let lines = Monitor<[Data]>([])
    try await GatewayFixture.running(
      {
        $0.proxies = TrustedProxies([AddressRange("127.0.0.1")].compactMap(\.self))
      }, lines: lines
    ) { fixture in
      fixture.origin.serve("/a", Array("one~".utf8), headers: [.cacheControl: "max-age=60"])
      for (address, fields) in [
        ("127.0.0.1", ["X-Forwarded-For: 1.1.1.1, 198.51.100.7"]),
        ("127.0.0.2", ["X-Forwarded-For: 1.1.1.1, 198.51.100.7"]),
      ] {
        let client = try RepeatingClient(fixture, "/a", fields, from: address)
        for _ in 0..<4 { _ = try await client.ask() }
      }
      try await lines.wait(within: .seconds(60), until: { $0.count >= 8 })
    }
    let addresses = try Self.answered(lines).map { $0["address"] as? String }
    #expect(addresses == Array(repeating: "198.51.100.7", count: 4) + Array(repeating: "127.0.0.2", count: 4))
  }

  @Test("stored and evicted responses are counted")
  func cacheMetrics() async throws {
    try await GatewayFixture.running {
      ($0.gateway.origins[0].memory, $0.gateway.origins[0].disk) = (20_000, 30_000)
    } _: { fixture in
      for number in 0..<20 {
        fixture.origin.serve(
          "/\(number)", [UInt8](repeating: 65, count: 2_000), headers: [.cacheControl: "max-age=60"])
        // What is asked for again stays in memory.
        for _ in 0..<2 { _ = try await fixture.get("/\(number)") }
      }
      func values(_ name: String) async -> [Double] {
        await fixture.report.updateMetrics()
        let text = fixture.record.metrics.registry.text(.prometheus)
        return ["disk", "memory"].map { tier in
          let line = text.split(separator: "\n").first {
            $0.hasPrefix("renderhost_gateway_\(name){origin=\"origin\",tier=\"\(tier)\"}")
          }
          return line?.split(separator: " ").last.flatMap { Double($0) } ?? -1
        }
      }
      #expect(await values("cache_capacity_bytes") == [30_000, 20_000])
      try await eventually("there is no more than may be") {
        let bytes = await values("cache_bytes")
        let entries = await values("cache_entries")
        let gone = await values("evictions_total")
        return bytes[0] <= 30_000 && bytes[1] <= 20_000 && bytes.allSatisfy { $0 > 0 }
          && entries.allSatisfy { $0 > 0 && $0 < 20 } && entries[0] + gone[0] == 20 && gone[1] > 0
      }
      // A second look counts nothing twice.
      #expect(await values("evictions_total") == values("evictions_total"))
    }
  }

  @Test("a traceparent is forwarded, or created")
  func traceParent() async throws {
    let names = try ["traceparent", "tracestate"].map { try #require(HTTPField.Name($0)) }
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", [65], headers: [.cacheControl: "no-store"])
      let given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
      _ = try await fixture.get("/a", ["traceparent: \(given)", "tracestate: a=b"])
      for _ in 0..<2 { _ = try await fixture.get("/a", ["tracestate: a=b"]) }
      _ = try await fixture.get("/a", ["traceparent: 00-0-0-00", "tracestate: a=b"])
      let found = fixture.origin.requests.map { request in names.map { request.headers[$0] } }
      #expect(found.first == [given, "a=b"])
      let made = found.dropFirst()
      #expect(made.allSatisfy { $0[1] == nil } && Set(made.map { $0[0] }).count == 3)
      #expect(made.allSatisfy { $0[0].flatMap { TraceParent($0) } != nil })
    }
  }

  /// W3C Trace Context §3.2.2.
  @Test(
    "an invalid traceparent is replaced",
    arguments: [
      ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true),
      ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", true),
      ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", false),
      ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false),
      ("00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false),
      ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false),
      ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false),
      ("00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01", false), ("", false), ("00", false),
    ])
  func traceGrammar(_ text: String, _ isValid: Bool) {
    #expect((TraceParent(text) != nil) == isValid)
  }
}
