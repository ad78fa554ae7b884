import HTTPTypes
import PageTesting
import TestServers
import Testing

/// Gateways of one fleet: real daemons, and real NATS servers.
@Suite(.serialized, .timeLimit(.minutes(5)), .enabled(if: NATSCluster.isInstalled, "nats-server is not installed"))
struct FleetGatewayTests {
  private func running(
    _ names: [String], _ flags: [String] = [],
    _ body: @Sendable ([FleetHosts.Host], FaultOrigin, NATSCluster) async throws -> Void
  ) async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", Array("one".utf8), etag: "\"1\"", headers: [.cacheControl: "max-age=600"])
      try await NATSCluster.running { cluster in
        try await FleetHosts.running(names, cluster, before: origin, flags) { hosts in
          try await body(hosts, origin, cluster)
        }
      }
    }
  }

  @Test("a purge that is given to one host is carried out by all, which the answer says")
  func purging() async throws {
    try await running(["a", "b", "c"]) { (hosts: [FleetHosts.Host], origin: FaultOrigin, _: NATSCluster) async throws in
      for host in hosts { try await host.warm("/a") }
      let asked = origin.requestCount(path: "/a")
      let purge = try await hosts[1].purge(#"{"url": "/a", "wait": 30}"#)
      #expect(purge.answer == .init(purged: 3, confirmed: ["a", "b", "c"], missing: []), "\(purge.text)")
      for host in hosts { _ = try await host.get("/a") }
      #expect(origin.requestCount(path: "/a") == asked + 3)
      // An order for one host is no one else's.
      let local = try await hosts[0].purge(#"{"url": "/a", "local": true}"#)
      #expect(local.answer == .init(purged: 1))
      #expect(try await hosts[2].fleet().sequence == 1)
      // An order that no origin can carry out is refused before it is in the journal.
      #expect(try await hosts[0].purge(#"{"url": "nonsense"}"#).status == 400)
    }
  }

  @Test("a host that is cut off validates what it has, serves it as stale if the origin is away, and catches up")
  func cutOff() async throws {
    try await running(["a", "b"]) { (hosts: [FleetHosts.Host], origin: FaultOrigin, _: NATSCluster) async throws in
      let (host, other) = (hosts[0], hosts[1])
      for host in hosts { try await host.warm("/a") }
      host.cut()
      #expect(try await other.purge(#"{"url": "/a", "wait": 3}"#).answer?.missing == ["a"])
      try await eventually("it is cut off") { try await host.fleet().phase == "cut-off" }
      #expect(try await host.fleet().problems.first?.contains("the journal is away") == true)
      let asked = origin.requestCount(path: "/a")
      // What is younger than five seconds may still answer.
      try await eventually("it is validated") {
        let answer = try await host.get("/a")
        return answer.text == "one" && origin.requestCount(path: "/a") > asked
      }
      // An order that it cannot pass on is refused.
      let refused = try await host.purge(#"{"url": "/a"}"#)
      #expect(refused.status == 503 && refused.text.contains(#"\"local\": true"#), "\(refused.text)")
      try await origin.refuseConnections()
      try await eventually("it is older than five seconds") {
        try await host.get("/a").headers["cache-status"]?.contains("detail=cut-off") == true
      }
      host.heal()
      try await eventually("it has caught up") { try await host.fleet().phase == "current" }
      // What was purged while it was cut off is gone.
      #expect(try await host.get("/a").status == 502)
      try await origin.acceptConnections()
      try await eventually("the origin is asked again") { try await host.get("/a").status == 200 }
    }
  }

  @Test("with --when-cut-off serve a host that is cut off answers as usual")
  func serving() async throws {
    try await running(["a"], ["--when-cut-off", "serve"]) {
      (hosts: [FleetHosts.Host], origin: FaultOrigin, cluster: NATSCluster) async throws in
      try await hosts[0].warm("/a")
      let asked = origin.requestCount(path: "/a")
      await cluster.kill(0)
      try await eventually("it is cut off") { try await hosts[0].fleet().phase == "cut-off" }
      #expect(try await hosts[0].get("/a").headers["cache-status"]?.contains("hit") == true)
      #expect(origin.requestCount(path: "/a") == asked)
    }
  }

  @Test("a host that was stopped carries out at its start what was ordered meanwhile, before it uses what is stored")
  func restart() async throws {
    try await FaultOrigin.running { (origin: FaultOrigin) async throws in
      origin.serve("/a", Array("one".utf8), headers: [.cacheControl: "max-age=600"])
      try await NATSCluster.running { (cluster: NATSCluster) async throws in
        let folder = try TemporaryDirectory()
        func host(_ body: (FleetHosts.Host) async throws -> Void) async throws {
          try await FleetHosts.host("a", in: folder, cluster, origin) { try await body($0) }
        }
        try await host { (host: FleetHosts.Host) async throws in
          try await eventually("it is current") { try await host.fleet().phase == "current" }
          try await host.warm("/a")
        }
        origin.serve("/a", Array("two".utf8), headers: [.cacheControl: "max-age=600"])
        try await FleetHosts.running(["b"], cluster, before: origin) { (hosts: [FleetHosts.Host]) async throws in
          #expect(try await hosts[0].purge(#"{"url": "/a", "wait": 0}"#).status == 200)
        }
        try await host { (host: FleetHosts.Host) async throws in
          #expect(try await host.get("/a").text == "two")
          try await eventually("it has carried it out") { try await host.fleet().sequence == 1 }
        }
      }
    }
  }
}
