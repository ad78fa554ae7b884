import Foundation

/// The processor time of one request to each cache, and to a server that only passes requests on; and how many system
/// calls renderhost makes for it.
struct GatewayCosts {
  let servers: GatewayServers
  let rounds: Int
  let clientCore: String

  /// The seconds of a round. With 1,000 clients the first requests, which wait until all connections are open, would
  /// otherwise be more than one in a hundred.
  private static func seconds(connections: Int) -> Int { connections < 1000 ? 3 : 12 }

  private struct Cost {
    var processor: [Double] = []
    var p99: [Double] = []
  }

  /// - Parameter random: asks for many URLs that are stored.
  func run(_ random: WrkScript, _ table: inout Table) throws {
    try row("a hit", "/1k", &table) { _ in nil }
    try row("a hit, 10,000 URLs in turn", "/", &table) { _ in random }
    for connections in [8, 1_000] {
      try row("a hit, \(connections) clients", "/1k", &table, connections: connections) { _ in nil }
    }
    try row("an answer that may not be stored", "/pass", &table, isPassedOn: true) { _ in nil }
    try row("a miss that is stored", "/", &table) {
      try WrkScript.new(below: "/new/cost/\($0)/", in: servers.root)
    }
  }

  /// - Parameter script: for a round of one server, by a number of its own.
  private func row(
    _ name: String, _ path: String, _ table: inout Table, isPassedOn: Bool = false, connections: Int = 32,
    _ script: (Int) throws -> WrkScript?
  ) throws {
    var all = [(servers.ports[0], servers.host.server), (servers.ports[1], servers.nginx)]
    all.append((servers.ports[2], servers.varnish))
    if isPassedOn { all += [servers.bare, servers.bareNIO].map { ($0.port, $0) } }
    var costs = all.map { _ in Cost() }
    let seconds = Self.seconds(connections: connections)
    var number = 0
    func load(_ index: Int, seconds: Int) throws -> Load {
      number += 1
      return try Load(
        "http://127.0.0.1:\(all[index].0)\(path)", connections: connections, seconds: seconds, cores: clientCore,
        script: script(number))
    }
    for round in 0...rounds {
      for index in all.indices {
        let before = all[index].1.processorSeconds
        let load = try load(index, seconds: seconds)
        let after = all[index].1.processorSeconds
        guard round > 0 else { continue }
        let spent = after.own + after.children - before.own - before.children
        costs[index].processor.append(spent / (load.rate * Double(seconds)))
        costs[index].p99.append(load.p99)
      }
    }
    var requests = 0.0
    let calls = try SystemCalls.count(of: all[0].1.pid, in: servers.root) {
      requests = try load(0, seconds: 1).rate
    }
    let processor = costs.map { Figures.time(Measurement.median($0.processor)) }
    let p99 = costs.map { Figures.time(Measurement.median($0.p99)) }
    table.add(
      name, processor[0], processor[1], processor[2], isPassedOn ? processor[3] : "", isPassedOn ? processor[4] : "",
      calls.map { String(format: "%.1f", Double($0) / requests) } ?? "", p99[0], p99[1], p99[2])
  }
}

/// Counts system calls with perf(1).
enum SystemCalls {
  /// - Parameter folder: for perf's output.
  /// - Returns: the system calls of a process while a body runs; `nil` if perf cannot count them.
  static func count(of pid: Int32, in folder: String, during body: () throws -> Void) throws -> Int? {
    let path = folder + "/perf.txt"
    let perf = try? Child(
      ["perf", "stat", "-x", ",", "-e", "raw_syscalls:sys_enter", "-p", "\(pid)", "-o", path])
    try body()
    guard let perf else { return nil }
    kill(perf.pid, SIGINT)
    _ = try? perf.finish()
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.contains("raw_syscalls") }
    return line?.split(separator: ",").first.flatMap { Int($0) }
  }
}
