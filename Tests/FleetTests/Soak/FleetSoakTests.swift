import CurlTransport
import Foundation
import HTTPTransport
import HTTPTypes
import PageTesting
import TestServers
import TestSupport
import Testing

/// A fleet of five hosts with three NATS servers, an object store and HAProxy: what it takes, and what becomes of it when
/// its parts fail. `make soak-fleet` runs these.
@Suite(
  .serialized, .timeLimit(.minutes(60)),
  .enabled(if: Soak.rounds(0, soaking: 1) == 1, "only in make soak-fleet"),
  .enabled(if: NATSCluster.isInstalled && HAProxy.isInstalled, "nats-server or haproxy is not installed"))
struct FleetSoakTests {
  private struct Fleet {
    let hosts: [FleetHosts.Host]
    let origin: FaultOrigin
    let cluster: NATSCluster
    let bucket: TestBucket
    let folder: TemporaryDirectory

    /// Publishes a folder of twenty bundles, one of which is new, and returns when the pointer is switched.
    func publish(_ release: String) async throws {
      let site = folder.file("site")
      try FileManager.default.createDirectory(atPath: site, withIntermediateDirectories: true)
      for number in 0..<20 {
        let text = number == 0 ? "// \(release)" : "// bundle \(number)\n" + String(repeating: "x", count: 20_000)
        try Data(text.utf8).write(to: URL(fileURLWithPath: site + "/\(number).js"))
      }
      let environment = ProcessInfo.processInfo.environment.merging(bucket.environment) { _, own in own }
      try await RunningProgram(
        RunningProgram.built("bundlectl"),
        ["publish", site, "s3://bucket/app", "--release", release] + cluster.urls.flatMap { ["--journal", $0] },
        environment: environment
      ).succeed()
    }

    /// Returns when all hosts serve a release.
    func waitUntilLive(_ release: String) async throws {
      for host in hosts {
        try await eventually("\(release) is live on \(host.name)") {
          try await host.daemon.get("/bundles/0.js").text == "// \(release)"
        }
      }
    }
  }

  private func running(_ body: @Sendable (Fleet) async throws -> Void) async throws {
    try await FaultOrigin.running { origin in
      let store = try await FaultOrigin.start()
      let bucket = TestBucket(on: store)
      let folder = try TemporaryDirectory()
      try await NATSCluster.running(3) { cluster in
        try await Fleet(hosts: [], origin: origin, cluster: cluster, bucket: bucket, folder: folder).publish("r0")
        let variables = bucket.environment.map { "export \($0.key)='\($0.value)'" }.joined(separator: "; ")
        let flags = ["--releases", "s3://bucket/app", "--follow", "60", "--workers", "1"]
        try await FleetHosts.running(
          ["a", "b", "c", "d", "e"], cluster, before: origin, flags, shell: variables
        ) { hosts in
          try await body(
            Fleet(hosts: hosts, origin: origin, cluster: cluster, bucket: bucket, folder: folder))
        }
      }
      try await store.stop()
    }
  }

  // MARK: Times

  @Test("purges are confirmed by all hosts, and releases live on all of them")
  func times() async throws {
    try await running { (fleet: Fleet) async throws in
      let recorded = RecordedFleet(fleet.hosts, fleet.origin)
      var purges: [Duration] = []
      for number in 0..<300 {
        for host in fleet.hosts { _ = try await host.get("/0") }
        purges.append(try #require(try await recorded.purge(0, at: number % 5)))
      }
      print("fleet: purges confirmed by five hosts, \(purges.summary)")
      var switches: [Duration] = []
      for number in 1...50 {
        let switched = Monitor<ContinuousClock.Instant?>(nil)
        fleet.bucket.beforeWrite { key in if key == "app/current.json" { switched.change { $0 = .now } } }
        try await fleet.publish("r\(number)")
        try await fleet.waitUntilLive("r\(number)")
        switches.append(ContinuousClock.now - (try #require(switched.read { $0 })))
      }
      print("fleet: a release with one changed bundle live on five hosts, \(switches.summary)")
    }
  }

  // MARK: The load balancer

  private func balanced(_ fleet: Fleet, _ body: (HAProxy) async throws -> Void) async throws {
    var servers: [HAProxy.Server] = []
    for host in fleet.hosts {
      servers.append(
        HAProxy.Server(
          name: host.name, gateway: String(host.gateway.dropFirst("http://".count)), checks: try host.daemon.port()))
    }
    try await HAProxy.running(servers) { proxy in
      try await eventually("it answers") { (try? await fleet.hosts[0].daemon.get("/up", at: proxy.url))?.status == 200 }
      try await body(proxy)
    }
  }

  @Test("a thousand clients of one cold object cost the origin one request, and a host that ends moves only its URLs")
  func balancing() async throws {
    try await running { (fleet: Fleet) async throws in
      fleet.origin.serve("/up", [65])
      fleet.origin.respond("/cold") { _ in
        try? await Task.sleep(for: .milliseconds(500))
        return OriginResponse(status: .ok, headers: [.cacheControl: "max-age=600"], body: Array("cold".utf8))
      }
      let count = 5_000
      for number in 0..<count {
        fleet.origin.serve("/item/\(number)", [65], headers: [.cacheControl: "max-age=600"])
      }
      try await balanced(fleet) { (proxy: HAProxy) async throws in
        let transport = try CurlTransport(.init(connectionsPerHost: 1_000, connections: 1_000))
        @Sendable func get(_ path: String) async throws -> (status: Int, host: String) {
          let head = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(proxy.port)", path: path)
          let response = try await transport.send(TransportRequest(head))
          for try await _ in response.body {}
          let name = HTTPField.Name("X-Host").flatMap { response.head.headerFields[$0] } ?? ""
          return (response.head.status.code, name)
        }
        let began = ContinuousClock.now
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
          for _ in 0..<1_000 { group.addTask { try await get("/cold").status } }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.allSatisfy { $0 == 200 } && fleet.origin.requestCount(path: "/cold") == 1)
        print("fleet: 1,000 clients of one cold object, \(ContinuousClock.now - began)")

        /// The host of each URL.
        func places() async throws -> [Int: String] {
          try await withThrowingTaskGroup(of: [(Int, String)].self) { group in
            for client in 0..<50 {
              group.addTask {
                var found: [(Int, String)] = []
                for number in stride(from: client, to: count, by: 50) {
                  found.append((number, try await get("/item/\(number)").host))
                }
                return found
              }
            }
            return try await group.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
          }
        }
        let before = try await places()
        let shares = Dictionary(grouping: before.values) { $0 }.mapValues(\.count)
        print("fleet: \(count) URLs by host, \(shares.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })")
        // Clients go on while a host is killed.
        let errors = Monitor(0)
        let isOver = Monitor(false)
        let traffic = Task {
          await withTaskGroup(of: Void.self) { group in
            for client in 0..<8 {
              group.addTask {
                var number = client
                while !isOver.read({ $0 }) {
                  number = (number + 8) % count
                  if (try? await get("/item/\(number)").status) != 200 { errors.change { $0 += 1 } }
                }
              }
            }
          }
        }
        try await Task.sleep(for: .seconds(1))
        fleet.hosts[2].daemon.program.send(SIGKILL)
        try await Task.sleep(for: .seconds(5))
        isOver.change { $0 = true }
        await traffic.value
        let after = try await places()
        let moved = before.filter { $0.value == "c" }.count
        #expect(
          !after.values.contains("c") && after.filter { before[$0.key] != "c" } == before.filter { $0.value != "c" })
        print(
          "fleet: a host killed moved \(moved) of \(count) URLs, and \(errors.read { $0 }) requests of 8 clients failed"
        )
        #expect(moved <= count * 22 / 100 && errors.read { $0 } <= 8)
      }
    }
  }

  // MARK: Faults

  @Test(
    "a host that is cut off for 30 s misses none of 1,000 purges and two releases, and gives nothing against them",
    arguments: [false, true])
  func cutHost(silently: Bool) async throws {
    try await running { (fleet: Fleet) async throws in
      let recorded = RecordedFleet(fleet.hosts, fleet.origin)
      recorded.start()
      try await Task.sleep(for: .seconds(3))
      recorded.cut(2, silently: silently)
      let end = ContinuousClock.now + .seconds(30)
      for number in 0..<1_000 {
        _ = try await recorded.purge(number % RecordedFleet.urls, at: number % 2, waiting: 0)
        if number == 300 { try await fleet.publish("r1") }
        if number == 600 { try await fleet.publish("r2") }
      }
      if ContinuousClock.now < end { try await Task.sleep(until: end, clock: .continuous) }
      try await recorded.heal(2)
      try await fleet.waitUntilLive("r2")
      try await Task.sleep(for: .seconds(5))
      await recorded.stop()
      let history = recorded.history
      let found = history.contradictions()
      let how = silently ? "silently" : "with closed connections"
      print("fleet: cut off \(how) for 30 s: \(history.answers.count) answers, \(history.purges.count) purges")
      #expect(history.purges.count == 1_000 && found.isEmpty, "\(found.prefix(3))")
      for host in fleet.hosts { #expect(try await host.fleet().sequence >= 1_000) }
    }
  }

  @Test("hosts go on while NATS servers and the object store fail, and what was promised is kept")
  func faults() async throws {
    try await running { (fleet: Fleet) async throws in
      let recorded = RecordedFleet(fleet.hosts, fleet.origin)
      recorded.start()
      // Each of the servers, so that the stream's leader is among them.
      for server in 0..<3 {
        try await fleet.cluster.waitUntilCurrent()
        await fleet.cluster.kill(server)
        var isDone = false
        for _ in 0..<40 where !isDone { isDone = try await recorded.purge(1, at: 0) != nil }
        #expect(isDone, "no purge is confirmed by all without server \(server)")
        try fleet.cluster.start(server)
        try await eventually("all are current") {
          for host in fleet.hosts where try await host.fleet().phase != "current" { return false }
          return true
        }
      }
      for server in 0..<3 { await fleet.cluster.kill(server) }
      #expect(try await recorded.purge(1, at: 0) == nil)
      for index in fleet.hosts.indices { recorded.cut(index) }
      try await eventually("all are cut off") {
        for host in fleet.hosts where try await host.fleet().phase != "cut-off" { return false }
        return true
      }
      for server in 0..<3 { try fleet.cluster.start(server) }
      for index in fleet.hosts.indices { try await recorded.heal(index) }
      for _ in 0..<20 { _ = try await recorded.purge(2, at: 1) }

      // The object store.
      let faults: [(String, Fault)] = [
        ("answers 503", .status(503)), ("is slow", .delay(.milliseconds(300))), ("breaks off", .resetAfter(bytes: 200)),
        ("is full", .status(507)), ("answers half", .contentLengthTooLong(by: 100)),
      ]
      for (number, (name, fault)) in faults.enumerated() {
        fleet.bucket.origin.always("/bucket/*", fault)
        let publishing = Task { try await fleet.publish("f\(number)") }
        try await Task.sleep(for: .seconds(2))
        for host in fleet.hosts {
          #expect(try await host.daemon.get("/bundles/1.js").status == 200, "while the store \(name)")
          #expect(try await host.daemon.get("/readyz").status == 200)
        }
        fleet.bucket.origin.always("/bucket/*", .normal)
        if (try? await publishing.value) == nil { try await fleet.publish("f\(number)") }
        try await fleet.waitUntilLive("f\(number)")
      }
      await recorded.stop()
      let found = recorded.history.contradictions()
      #expect(found.isEmpty, "\(found.prefix(3))")
      for host in fleet.hosts {
        let lines = host.daemon.said.split(separator: "\n").filter { $0.contains("the journal is away") }
        print("fleet: \(host.name) has said \(lines.count) times that the journal is away")
      }
    }
  }

  @Test("no answer in a hundred short histories of real servers contradicts a promise")
  func histories() async throws {
    try await running { (fleet: Fleet) async throws in
      let recorded = RecordedFleet(fleet.hosts, fleet.origin)
      recorded.start()
      for seed: UInt64 in 1...100 {
        var random = SeededGenerator(seed: seed)
        let cut = Int.random(in: 0..<5, using: &random)
        if Bool.random(using: &random) { recorded.cut(cut) }
        let server = Int.random(in: 0..<9, using: &random)
        if server < 3 {
          try await fleet.cluster.waitUntilCurrent()
          await fleet.cluster.kill(server)
        }
        let end = ContinuousClock.now + .milliseconds(Int.random(in: 500...8_000, using: &random))
        while ContinuousClock.now < end {
          let (url, host) = (Int.random(in: 0..<5, using: &random), Int.random(in: 0..<5, using: &random))
          if host != cut { _ = try await recorded.purge(url, at: host, waiting: 0.1) }
          try await Task.sleep(for: .milliseconds(Int.random(in: 0...300, using: &random)))
        }
        if server < 3 { try fleet.cluster.start(server) }
        try await recorded.heal(cut)
      }
      await recorded.stop()
      let history = recorded.history
      let found = history.contradictions()
      print("fleet: \(history.answers.count) answers and \(history.purges.count) purges in a hundred histories")
      #expect(found.isEmpty && history.purges.count > 500, "\(found.prefix(3))")
    }
  }
}
