import Foundation
import PageTesting
import TestServers

/// Daemons of one fleet, each with a gateway in front of the same origin.
struct FleetHosts {
  struct Host {
    let name: String
    let daemon: Daemon
    /// The URL of its gateway.
    let gateway: String
    /// Its connections to the servers of the journal.
    let relays: [TCPRelay]

    func cut() { for relay in relays { relay.cut() } }
    /// Nothing comes through, and no connection is closed.
    func stall() { for relay in relays { relay.stall() } }
    func heal() { for relay in relays { relay.heal() } }

    /// Requests a path until what is stored answers.
    func warm(_ path: String) async throws {
      // What is stored in the first second may be older than its position.
      try await eventually("\(path) is stored") {
        try await get(path).headers["cache-status"]?.contains("hit") == true
      }
    }

    func get(_ path: String) async throws -> Daemon.Answer { try await daemon.get(path, at: gateway) }

    /// - Returns: the answer to an order to purge.
    func purge(_ json: String) async throws -> (status: Int, answer: PurgeAnswer?, text: String) {
      let answer = try await daemon.post("/admin/gateway/purge", json, ["Authorization": "Bearer \(FleetHosts.token)"])
      return (answer.status, try? JSONDecoder().decode(PurgeAnswer.self, from: Data(answer.bytes)), answer.text)
    }

    /// The state of the fleet, as the host knows it.
    func fleet() async throws -> Status {
      let status = try JSONDecoder().decode(Whole.self, from: Data(try await daemon.get("/status").bytes))
      return status.fleet
    }

    private struct Whole: Decodable { let fleet: Status }
  }

  struct PurgeAnswer: Decodable, Equatable {
    let purged: Int
    var confirmed: [String]?
    var missing: [String]?
  }

  /// The fleet's part of `/status`.
  struct Status: Decodable {
    struct Peer: Decodable {
      let name: String
      let sequence: UInt64
    }
    let host: String
    let phase: String
    let sequence: UInt64
    let behind: UInt64
    let problems: [String]
    let peers: [Peer]
  }

  static let token = "a-secret-of-16-bytes"

  /// Starts hosts with these names, and waits until each knows all.
  ///
  /// - Parameter shell: commands for the shells that become the daemons.
  static func running(
    _ names: [String], _ cluster: NATSCluster, before origin: FaultOrigin, _ flags: [String] = [], shell: String = ":",
    _ body: ([Host]) async throws -> Void
  ) async throws {
    try await start(names[...], [], cluster, origin, flags, shell) { hosts in
      for host in hosts {
        try await eventually("\(host.name) knows all") {
          let fleet = try await host.fleet()
          return fleet.phase == "current" && fleet.peers.count == names.count
        }
      }
      try await body(hosts)
    }
  }

  private static func start(
    _ names: ArraySlice<String>, _ hosts: [Host], _ cluster: NATSCluster, _ origin: FaultOrigin, _ flags: [String],
    _ shell: String, _ body: ([Host]) async throws -> Void
  ) async throws {
    guard let name = names.first else { return try await body(hosts) }
    try await host(name, in: TemporaryDirectory(), cluster, origin, flags, shell: shell) { host in
      try await start(names.dropFirst(), hosts + [host], cluster, origin, flags, shell, body)
    }
  }

  /// Starts a host whose store is in a folder.
  static func host(
    _ name: String, in folder: TemporaryDirectory, _ cluster: NATSCluster, _ origin: FaultOrigin,
    _ flags: [String] = [], shell: String = ":", _ body: (Host) async throws -> Void
  ) async throws {
    try await relaying(to: cluster.ports[...], []) { relays in
      let own = [
        "--gateway", "127.0.0.1:0", "--origin", origin.url(for: "/"), "--fleet-host", name, "--admin-token", token,
        "--connections-per-address", "4000",
      ]
      let journal = relays.flatMap { ["--journal", "nats://127.0.0.1:\($0.port)"] }
      try await Daemon.running(nil, folder, own + journal + flags, shell: shell) { daemon in
        let gateway = "http://" + (try await daemon.gateway())
        try await body(Host(name: name, daemon: daemon, gateway: gateway, relays: relays))
      }
    }
  }

  private static func relaying(
    to ports: ArraySlice<Int>, _ relays: [TCPRelay], _ body: ([TCPRelay]) async throws -> Void
  ) async throws {
    guard let port = ports.first else { return try await body(relays) }
    try await TCPRelay.running(to: port) { relay in
      try await relaying(to: ports.dropFirst(), relays + [relay], body)
    }
  }
}
