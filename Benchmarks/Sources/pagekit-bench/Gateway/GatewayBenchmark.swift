import Foundation

/// renderhost's gateway beside nginx with `proxy_cache` and Varnish, in front of the same origin.
///
/// The caches have the first core, one at a time; wrk and the origin have the second.
struct GatewayBenchmark {
  /// The folder of renderhost and bare-server.
  let programs: String
  let folder: String
  let rounds: Int

  private static let (cacheCore, clientCore) = ("0", "1")
  private static let connections = 32
  private static let clients = 1000
  private static let entries = 100_000

  func run(_ table: inout Table, costs: inout Table) throws {
    let servers = try GatewayServers(
      programs: programs, root: folder + "/gateway", cacheCore: Self.cacheCore, originCore: Self.clientCore)
    defer { servers.stop() }
    try hits("hits of 1 KiB", "/1k", servers, &table)
    try hits("hits of 64 KiB", "/64k", servers, &table)
    for port in servers.ports { try fill(port, "/tagged/[0-9]/[1-1000]") }
    let random = try WrkScript.random(below: "/tagged/", files: 1000, in: servers.root)
    try hits("hits of 1 KiB, 10,000 URLs in turn", "/", servers, script: random, &table)
    // Misses push what was stored before out of memory.
    try GatewayCosts(servers: servers, rounds: rounds, clientCore: Self.clientCore).run(random, &costs)
    try misses(servers, &table)
    try hits("answers of 1 KiB that may not be stored", "/pass", servers, &table)
    try crowd(servers, &table)
    try purges(servers, random, &table)
    try memory(servers, &table)
  }

  private func hits(
    _ name: String, _ path: String, _ servers: GatewayServers, script: WrkScript? = nil, _ table: inout Table
  ) throws {
    let rates = try measure(servers) { index, round in
      // Each of many URLs is to be asked for twice before it counts.
      try load(servers.ports[index], path, seconds: round == 0 && script == nil ? 1 : 3, script).rate
    }
    addRates(name, rates, &table)
  }

  private func misses(_ servers: GatewayServers, _ table: inout Table) throws {
    let rates = try measure(servers) { index, round in
      let script = try WrkScript.new(below: "/new/\(index)/\(round)/", in: servers.root)
      return try load(servers.ports[index], "/", seconds: round == 0 ? 1 : 3, script).rate
    }
    addRates("misses of 1 KiB", rates, &table)
  }

  private func crowd(_ servers: GatewayServers, _ table: inout Table) throws {
    var requests = [0, 0, 0]
    let times = try measure(servers) { index, round in
      let before = servers.slow.requests
      defer { requests[index] = max(requests[index], servers.slow.requests - before) }
      return try Crowd.seconds(
        of: "/slow/\(index)/\(round)", port: servers.ports[index], clients: Self.clients, cores: Self.clientCore)
    }
    addTimes("1,000 clients, one cold object, 200 ms away", times, &table)
    table.add("requests to its origin", "\(requests[0])", "\(requests[1])", "\(requests[2])", "", "", "")
  }

  /// A tenth of the entries goes in the middle of each run.
  private func purges(_ servers: GatewayServers, _ script: WrkScript, _ table: inout Table) throws {
    let times = try measure(servers) { index, round in
      guard let purge = servers.purge("tag\(round % 10)", at: index) else { return nil }
      try fill(servers.ports[index], "/tagged/[0-9]/[1-1000]")
      guard (try? Measurement.run(purge)) != nil else { return nil }
      try fill(servers.ports[index], "/tagged/\(round % 10)/[1-1000]")
      DispatchQueue.global().asyncAfter(deadline: .now() + 1.5) { _ = try? Measurement.run(purge) }
      return try load(servers.ports[index], "/", seconds: 3, script).p99
    }
    addTimes("p99 while 10 % of 10,000 URLs are purged", times, &table)
  }

  /// All of their processes, with whatever the rows above have left in them.
  private func memory(_ servers: GatewayServers, _ table: inout Table) throws {
    for port in servers.ports { try fill(port, "/new/memory/[1-\(Self.entries)]") }
    let bytes = servers.caches.map(\.proportionalBytes)
    let texts = bytes.map { "\($0 >> 20) MiB" }
    let ratios = bytes.map { Figures.ratio(Double(bytes[0]) / Double($0)) }
    table.add("memory with 100,000 entries of 1 KiB", texts[0], texts[1], texts[2], ratios[1], ratios[2], "")
  }

  // MARK: Measuring

  /// The figures of each cache, taken in turn; the first round warms up.
  private func measure(
    _ servers: GatewayServers, _ body: (_ index: Int, _ round: Int) throws -> Double?
  ) rethrows -> [[Double]] {
    var figures: [[Double]] = servers.ports.map { _ in [] }
    for round in 0...rounds {
      for index in servers.ports.indices {
        if let figure = try body(index, round), round > 0 { figures[index].append(figure) }
      }
    }
    return figures
  }

  private func load(_ port: Int, _ path: String, seconds: Int, _ script: WrkScript?) throws -> Load {
    try Load(
      "http://127.0.0.1:\(port)\(path)", connections: Self.connections, seconds: seconds, cores: Self.clientCore,
      script: script)
  }

  /// Asks for all of some paths once, as curl(1) has them, by the host that the scripts name: caches tell hosts apart.
  private func fill(_ port: Int, _ paths: String) throws {
    _ = try Measurement.run([
      "taskset", "-c", Self.clientCore, "curl", "-sf", "-Z", "-o", "/dev/null", "-H", "Host: 127.0.0.1",
      "http://127.0.0.1:\(port)\(paths)",
    ])
  }

  // MARK: Rows

  private func addRates(_ name: String, _ rates: [[Double]], _ table: inout Table) {
    let medians = rates.map(Measurement.median)
    let ratios = medians.map { Figures.ratio($0 / medians[0]) }
    let texts = medians.map { "\(Int($0))/s" }
    table.add(name, texts[0], texts[1], texts[2], ratios[1], ratios[2], Self.spread(rates))
  }

  /// Those that a cache has no figures for are left empty.
  private func addTimes(_ name: String, _ times: [[Double]], _ table: inout Table) {
    let medians = times.map { $0.isEmpty ? nil : Measurement.median($0) }
    let texts = medians.map { $0.map(Figures.time) ?? "" }
    let ratios = medians.map { other in
      if let own = medians[0], let other { Figures.ratio(own / other) } else { "" }
    }
    table.add(name, texts[0], texts[1], texts[2], ratios[1], ratios[2], Self.spread(times))
  }

  /// How far the figures of one cache are apart at most, to their median.
  private static func spread(_ figures: [[Double]]) -> String {
    let spreads = figures.filter { !$0.isEmpty }.map { figures in
      ((figures.max() ?? 0) - (figures.min() ?? 0)) / Measurement.median(figures)
    }
    return "\(Int(((spreads.max() ?? 0) * 100).rounded())) %"
  }
}
