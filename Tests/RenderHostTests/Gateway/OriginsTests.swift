import Foundation
import HTTPCache
import HTTPCaching
import HTTPTransport
import HTTPTypes
import PageKit
import PageTesting
import TestServers
import Testing

@testable import CacheGateway
@testable import RenderHost

/// Several origins behind one gateway, each with its own rules and limits.
@Suite(.timeLimit(.minutes(2)))
struct OriginsTests {
  @Test("each host has its own origin and cache")
  func separateOrigins() async throws {
    try await FaultOrigin.running { other in
      other.serve("/a", Array("other".utf8), headers: [.cacheControl: "max-age=60"])
      try await GatewayFixture.running({ settings in
        settings.gateway.origins[0].hosts = ["api.example.com"]
        var second = OriginSettings(name: "other", url: settings.gateway.origins[0].url)
        second.url = PageURL(other.url(for: "/")) ?? second.url
        second.prefixes = ["/a"]
        settings.gateway.origins.append(second)
      }) { fixture in
        fixture.origin.serve("/a", Array("api".utf8), headers: [.cacheControl: "max-age=60"])
        for _ in 0..<2 {
          #expect(try await fixture.get("/a").body == "api")
          #expect(try await fixture.get("/a", host: "b.example").body == "other")
        }
        #expect(fixture.origin.requestCount(path: "/a") == 1 && other.requestCount(path: "/a") == 1)
        let unknown = try await fixture.get("/b", host: "b.example")
        #expect(unknown.status == 404 && unknown.body.contains("/b"))
      }
    }
  }

  @Test("rules decide how and for how long matching responses are stored")
  func rules() async throws {
    try await GatewayFixture.running({ settings in
      settings.gateway.origins[0].rules = [
        ResourceRule(.glob("/silent/*"), lifetime: .exactly(60)), ResourceRule(.glob("/now/*"), behavior: .networkOnly),
      ]
    }) { fixture in
      for (path, asked) in [("/silent/a", 1), ("/now/a", 2)] {
        fixture.origin.serve(path, [65], headers: path == "/now/a" ? [.cacheControl: "max-age=60"] : [:])
        for _ in 0..<2 {
          let answer = try await fixture.get(path)
          #expect(answer.body == "A")
        }
        #expect(fixture.origin.requestCount(path: path) == asked, "\(path)")
      }
    }
  }

  @Test("a targeted field for the gateway decides")
  func targetedField() async throws {
    let name = try #require(HTTPField.Name("My-Cache-Control"))
    try await GatewayFixture.running({ $0.gateway.origins[0].targets = [name] }) { fixture in
      fixture.origin.serve("/a", [65], headers: [.cacheControl: "no-store", name: "max-age=60"])
      for _ in 0..<2 { _ = try await fixture.get("/a") }
      #expect(fixture.origin.requestCount(path: "/a") == 1)
    }
  }

  @Test("requests beyond the queue get a 503")
  func fullQueue() async throws {
    try await GatewayFixture.running({ settings in
      (settings.gateway.origins[0].connections, settings.gateway.origins[0].waiting) = (1, 1)
    }) { fixture in
      for path in ["/a", "/b", "/c"] { fixture.origin.serve(path, Array(path.utf8)) }
      fixture.origin.hold("/a")
      async let first = fixture.get("/a")
      try await fixture.origin.waitForRequests(1, to: "/a")
      // One of the two waits, and the other is refused.
      async let second = fixture.get("/b")
      async let third = fixture.get("/c")
      try await eventually("one is turned away") { fixture.answers(.busy) == 1 }
      #expect(fixture.origin.maxConcurrentRequests == 1)
      fixture.origin.release("/a")
      let others = try await [second, third]
      #expect(try await first.body == "/a")
      #expect(Set(others.map(\.status)) == [200, 503])
      let refused = try #require(others.first { $0.status == 503 })
      #expect(refused["retry-after"] == "1" && refused.body.contains("too many requests wait"))
    }
  }

  @Test("refused requests share a log line for a while")
  func refusalLog() async throws {
    let lines = Monitor<[Data]>([])
    try await GatewayFixture.running(
      { ($0.gateway.origins[0].connections, $0.gateway.origins[0].waiting) = (1, 0) }, lines: lines
    ) { fixture in
      fixture.origin.serve("/a", [65])
      fixture.origin.hold("/a")
      async let first = fixture.get("/a")
      try await fixture.origin.waitForRequests(1, to: "/a")
      for number in 0..<30 { #expect(try await fixture.get("/\(number)").status == 503) }
      fixture.origin.release("/a")
      #expect(try await first.status == 200)
      #expect(fixture.answers(.busy) == 30)
    }
    let texts = lines.read { $0 }.map { String(decoding: $0, as: UTF8.self) }
    // Each has more than one line only on a machine slow enough for the interval to pass.
    #expect((1...3).contains(texts.count { $0.contains("\"status\":503") }), "\(texts)")
    #expect((1...3).contains(texts.count { $0.contains("requests wait for the origin") }))
    #expect(texts.count { $0.contains("\"status\":200") } == 1)
  }

  @Test("a forwarded body holds its place until the end")
  func heldPlace() async throws {
    try await GatewayFixture.running({ settings in
      (settings.gateway.origins[0].connections, settings.gateway.origins[0].waiting) = (1, 0)
    }) { fixture in
      fixture.origin.serve("/slow", [UInt8](repeating: 65, count: 10), headers: [.cacheControl: "no-store"])
      fixture.origin.script("/slow", [.stall(afterBytes: 5)])
      fixture.origin.serve("/b", [66])
      try await reading("/slow", of: fixture, until: "AAAAA") {
        let turnedAway = try await fixture.get("/b")
        #expect(turnedAway.status == 503)
      }
      try await eventually("the place is free") { try await fixture.get("/b").status == 200 }
    }
  }

  /// Runs a body while a client reads an endless answer, and then disconnects the client.
  private func reading(
    _ path: String, of fixture: GatewayFixture, until mark: String, _ body: () async throws -> Void
  ) async throws {
    let client = try RawClient(port: fixture.port)
    client.send("GET \(path) HTTP/1.1\r\nHost: api.example.com\r\n\r\n")
    #expect(try await client.read(until: mark).contains(mark))
    try await body()
  }

  @Test("an unreachable origin rests, and is tried again")
  func resting() async throws {
    try await GatewayFixture.running({ settings in
      settings.gateway.origins[0].patience = .init(
        failures: 1, rest: .milliseconds(200), longestRest: .milliseconds(200))
    }) { fixture in
      fixture.origin.serve("/a", [65])
      #expect(try await fixture.get("/a").status == 200 && fixture.isUp)
      try await fixture.origin.refuseConnections()
      #expect(try await fixture.get("/a").status == 502)
      #expect(fixture.answers(.fault) == 1 && !fixture.isUp)
      try await eventually("it is left alone") { try await fixture.get("/a").status == 503 }
      try await fixture.origin.acceptConnections()
      try await eventually("it is back") { try await fixture.get("/a").status == 200 }
      #expect(fixture.isUp)
    }
  }

  @Test("the metrics count the result of each request")
  func requestMetrics() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.serve("/a", Array("abc".utf8), etag: "\"1\"", headers: [.cacheControl: "max-age=60"])
      fixture.origin.serve("/b", Array("abc".utf8), etag: "\"1\"", headers: [.cacheControl: "no-cache"])
      fixture.origin.serve("/c", [65], headers: [.cacheControl: "no-store"])
      for path in ["/a", "/a", "/a", "/b", "/b", "/c"] { _ = try await fixture.get(path) }
      let found = GatewayResult.allCases.map { fixture.answers($0) }
      #expect(found == [2, 0, 1, 0, 2, 1, 0, 0])
      let origin = try #require(fixture.report.origins.first)
      #expect(origin.savedBytes == 9 && origin.hitRatio == 0.5 && origin.isUp && origin.median != nil)
    }
  }
}
