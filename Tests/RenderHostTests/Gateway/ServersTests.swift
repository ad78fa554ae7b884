import Foundation
import HTTPTypes
import PageKit
import PageTesting
import TestServers
import Testing

@testable import CacheGateway
@testable import HTTPCache
@testable import RenderHost
@testable import ServerKit

struct ServerRotationTests {
  @Test("each server is first in turn")
  func rotation() {
    var rotation = ServerRotation(count: 3, patience: 1)
    let orders = (0..<4).map { _ in rotation.order() }
    #expect(orders == [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]])
  }

  /// The results of the first server's checks, the changes that they cause, and the servers that are requested then.
  @Test("a server that fails its checks is skipped until it answers")
  func failedChecks() {
    var rotation = ServerRotation(count: 2, patience: 2)
    var found: [(Bool, Set<Int>)] = []
    for isGood in [false, false, false, true, false, true, false, false] {
      let hasChanged = rotation.checked(0, isGood: isGood)
      found.append((hasChanged, Set(rotation.order())))
    }
    #expect(found.map(\.0) == [false, true, false, true, false, false, false, true])
    #expect(found.map(\.1) == [[0, 1], [1], [1], [0, 1], [0, 1], [0, 1], [0, 1], [1]])
  }

  @Test("with all servers down none is tried")
  func allDown() {
    var rotation = ServerRotation(count: 1, patience: 1)
    let changes = [rotation.checked(0, isGood: false), rotation.checked(7, isGood: false)]
    let orders = [rotation.order(), rotation.order()]
    #expect(changes == [true, false] && orders == [[], []])
  }
}

/// Several servers of one origin, and checks of them.
@Suite(.timeLimit(.minutes(2)))
struct ServersTests {
  private func running(
    _ change: @escaping @Sendable (inout OriginSettings) -> Void = { _ in },
    _ body: @Sendable (_ first: FaultOrigin, _ second: FaultOrigin, GatewayFixture) async throws -> Void
  ) async throws {
    try await FaultOrigin.running { second in
      try await GatewayFixture.running { settings in
        settings.gateway.origins[0].others = PageURL(second.url(for: "/")).map { [$0] } ?? []
        settings.gateway.origins[0].patience = .init(failures: 2, rest: .seconds(600), longestRest: .seconds(600))
        change(&settings.gateway.origins[0])
      } _: { fixture in
        for (server, name) in [(fixture.origin, "first"), (second, "second")] {
          for path in ["/a", "/b", "/health"] { server.serve(path, Array(name.utf8)) }
        }
        try await body(fixture.origin, second, fixture)
      }
    }
  }

  @Test("requests rotate among servers, and the cache is common")
  func serversInTurn() async throws {
    try await running { first, second, fixture in
      for _ in 0..<2 {
        let answers = [try await fixture.get("/a"), try await fixture.get("/a")]
        #expect(Set(answers.map(\.body)) == ["first", "second"])
      }
      for server in [first, second] { server.serve("/c", [65], headers: [.cacheControl: "max-age=60"]) }
      for _ in 0..<4 { _ = try await fixture.get("/c") }
      #expect(first.requestCount(path: "/c") + second.requestCount(path: "/c") == 1)
    }
  }

  @Test("a request whose response is passed on by one of several servers waits once for a place")
  func placeOfPassedOn() async throws {
    try await running {
      $0.connections = 1
    } _: { first, second, fixture in
      for server in [first, second] {
        for path in ["/slow", "/pass"] { server.serve(path, Array("a~".utf8), headers: [.cacheControl: "no-store"]) }
      }
      for path in ["/slow", "/pass"] { _ = try await fixture.get(path) }
      for server in [first, second] { server.hold("/slow") }
      let gate = fixture.gateway.origins[0].loader.gate
      let before = gate.number()
      gate.forget(before)
      var clients: [RawClient] = []
      for (number, path) in ["/slow", "/pass", "/pass", "/pass"].enumerated() {
        let client = try RawClient(port: fixture.port)
        client.send("GET \(path) HTTP/1.1\r\nHost: api.example.com\r\n\r\n")
        clients.append(client)
        guard number > 0 else {
          try await eventually("it is asked") {
            first.requestCount(path: "/slow") + second.requestCount(path: "/slow") == 2
          }
          continue
        }
        try await eventually("\(number) wait") { gate.counts.waiting == number }
      }
      for server in [first, second] { server.release("/slow") }
      for client in clients { #expect(try await client.readAnswer().hasSuffix("a~")) }
      let after = gate.number()
      gate.forget(after)
      #expect(after - before == 5)
    }
  }

  @Test("if one server cannot be reached the other answers")
  func failover() async throws {
    try await running { first, second, fixture in
      second.respond("/a") { _ in OriginResponse(body: "second".utf8) }
      try await first.refuseConnections()
      for number in 0..<6 {
        let answer = try await fixture.get("/a", method: "POST", body: "\(number)")
        #expect(answer.status == 200 && answer.body == "second")
      }
      #expect(second.requests(to: "/a").map(\.text) == ["0", "1", "2", "3", "4", "5"])
      #expect(fixture.isUp && fixture.answers(.fault) == 0)
      try await second.refuseConnections()
      let statuses = [try await fixture.get("/a").status, try await fixture.get("/a?token=secret").status]
      #expect(statuses == [502, 502] && !fixture.isUp)
      #expect(fixture.record.failures.latest.allSatisfy { !$0.message.contains("secret") })
    }
  }

  @Test(
    "a GET that meets a closed connection or a 503 is sent to the other server",
    arguments: [Fault.closeBeforeHead, .resetBeforeHead, .status(503)])
  func repeatedRequests(_ fault: Fault) async throws {
    try await running { first, second, fixture in
      first.always("/a", fault)
      for method in ["GET", "HEAD"] {
        for _ in 0..<4 {
          let answer = try await fixture.get("/a", method: method)
          #expect(answer.status == 200 && answer.body == (method == "GET" ? "second" : ""), "\(answer)")
        }
      }
      #expect(first.requestCount(path: "/a") >= 4 && second.requestCount(path: "/a") == 8)
      // Both can be reached.
      #expect(fixture.isUp && fixture.answers(.fault) == 0)
    }
  }

  @Test("a request that may change something is sent to one server", arguments: [Fault.closeBeforeHead, .status(503)])
  func unrepeatableRequests(_ fault: Fault) async throws {
    try await running { first, second, fixture in
      for server in [first, second] { server.always("/a", fault) }
      for method in ["POST", "DELETE"] {
        let answer = try await fixture.get("/a", method: method, body: method == "POST" ? "b" : nil)
        #expect([502, 503].contains(answer.status))
      }
      #expect(first.requestCount(path: "/a") + second.requestCount(path: "/a") == 2)
    }
  }

  @Test("if no server answers better a client gets the 503, after two of them were asked")
  func busyServers() async throws {
    try await FaultOrigin.running { third in
      try await running {
        $0.others += PageURL(third.url(for: "/")).map { [$0] } ?? []
      } _: { (first: FaultOrigin, second: FaultOrigin, fixture: GatewayFixture) async throws -> Void in
        for server in [first, second, third] { server.always("/a", .status(503)) }
        #expect(try await fixture.get("/a").status == 503)
        let counts = [first, second, third].map { $0.requestCount(path: "/a") }
        #expect(counts.sorted() == [0, 1, 1])
        for server in [second, third] { server.always("/b", .closeBeforeHead) }
        first.always("/b", .status(503))
        // The 503 is given if it is one of the two answers.
        for _ in 0..<3 { #expect([502, 503].contains(try await fixture.get("/b").status)) }
      }
    }
  }

  @Test("a server that fails its checks gets no requests until it answers")
  func unhealthyServer() async throws {
    try await running {
      ($0.healthPath, $0.healthInterval) = ("/health?a=b", .milliseconds(20))
    } _: { first, second, fixture in
      for server in [first, second] { server.serve("/health?a=b", []) }
      first.always("/health?a=b", .status(503))
      try await eventually("the first is down") { fixture.gateway.origins[0].servers.areUp == [false, true] }
      for _ in 0..<4 { #expect(try await fixture.get("/a").body == "second") }
      await fixture.report.updateMetrics()
      let text = fixture.record.metrics.registry.text(.prometheus)
      let up = text.split(separator: "\n").filter { $0.hasPrefix("renderhost_gateway_server_up{") }
      #expect(up.count == 2 && Set(up.compactMap(\.last)) == ["0", "1"])
      second.always("/health?a=b", .closeBeforeHead)
      try await eventually("both are down") { !fixture.isUp }
      #expect(try await fixture.get("/a").status == 502)
      first.always("/health?a=b", .normal)
      try await eventually("the first is back") { try await fixture.get("/b").body == "first" }
      #expect(fixture.isUp && second.requestCount(path: "/b") == 0)
    }
  }

  @Test("a successful check ends the rest of an origin")
  func checkEndsRest() async throws {
    try await GatewayFixture.running {
      ($0.gateway.origins[0].healthPath, $0.gateway.origins[0].healthInterval) = ("/health", .milliseconds(20))
      $0.gateway.origins[0].patience = .init(failures: 1, rest: .seconds(600), longestRest: .seconds(600))
    } _: { fixture in
      for path in ["/a", "/health"] { fixture.origin.serve(path, [65]) }
      try await fixture.origin.refuseConnections()
      try await eventually("it is away") { try await fixture.get("/a").status == 503 }
      try await fixture.origin.acceptConnections()
      try await eventually("it is back") { try await fixture.get("/a").status == 200 }
    }
  }
}
