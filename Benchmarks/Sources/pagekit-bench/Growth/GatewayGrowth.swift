import Foundation

/// How the costs of the gateway grow: with the answers that it has stored, with its clients, with the size of an answer,
/// and with the time that its origin takes.
///
/// renderhost has the first core, wrk and the origin the second.
struct GatewayGrowth {
  let renderhost: String
  let folder: String
  let rounds: Int

  private static let (cacheCore, clientCore) = ("0", "1")
  private static let stored = [1_000, 10_000, 100_000, 1_000_000]
  private static let clients = [1, 8, 64, 500, 2_000]
  /// Of requests that are passed on, 128 are under way and 1,000 wait; more are refused.
  private static let waitingClients = [1, 8, 64, 500, 1_000]
  private static let sizes = [100, 10_000, 1_000_000, 100_000_000]
  private static let delays = [0, 20, 200]

  private var root: String { folder + "/gateway-growth" }

  /// - Parameter show: takes curves as soon as they are there.
  func run(_ show: ([Curve]) throws -> Void) throws {
    try? FileManager.default.removeItem(atPath: root)
    try FileManager.default.createDirectory(atPath: "\(root)/origin/www", withIntermediateDirectories: true)
    for size in Self.sizes + [1_024] {
      try Data(count: size).write(to: URL(fileURLWithPath: "\(root)/origin/www/\(size)"))
    }
    let origin = try LocalServer.nginx(root: root + "/origin", cores: Self.clientCore, http: "") {
      """
      default_type text/plain; add_header Cache-Control max-age=86400;
      location /stored/ { rewrite ^ /1024 break; }
      location /pass { add_header Cache-Control no-store; rewrite ^ /1024 break; }
      """
    }
    defer { origin.stop() }
    try show([delays(), sizes(origin)])
    try show(requests(origin))
    try show(answers(origin))
  }

  private func host(_ origin: String, keepsStore: Bool = false, certificate: Certificate? = nil) throws -> RunningHost {
    try RunningHost(
      renderhost, bundles: nil, store: root + "/store", keepsStore: keepsStore, cores: Self.cacheCore,
      gateway: (origin: origin, adminToken: GatewayServers.token),
      certificate: certificate, log: root + "/host.log")
  }

  private func load(
    _ url: String, connections: Int = 32, seconds: Int = 3, _ script: WrkScript? = nil
  ) throws -> Load {
    try Load(url, connections: connections, seconds: seconds, cores: Self.clientCore, script: script)
  }

  // MARK: Stored answers

  /// Answers of 1 KiB: storing one more, a hit on one of all of them, a start with all of them, and what they take.
  private func answers(_ origin: LocalServer) throws -> [Curve] {
    var storing = Curve("stored-storing", "a gateway stores one more answer of 1 KiB", unit: "stored", isOfOne: true)
    var hit = Curve("stored-hit", "a hit on one of all stored answers, at random", unit: "stored", isOfOne: true)
    var start = Curve("stored-start", "a start with stored answers", unit: "stored", isOfOne: true)
    var memory = Curve(
      "stored-memory", "memory after hits on stored answers", unit: "stored", isOfOne: true, format: Figures.bytes)
    var disk = Curve("stored-disk", "disk of stored answers", unit: "stored", format: Figures.bytes)
    var running = try host(origin.origin)
    defer { running.stop() }
    var count = 0
    for goal in Self.stored {
      let began = ContinuousClock.now
      let former = count
      try store(former..<goal, running.gatewayPort)
      count = goal
      storing.add(goal, Samples([Measurement.seconds(since: began) / Double(goal - former)]))
      running.stop()
      let starting = ContinuousClock.now
      running = try host(origin.origin, keepsStore: true)
      start.add(goal, Samples([Measurement.seconds(since: starting)]))
      let url = "http://127.0.0.1:\(running.gatewayPort)/"
      let random = try WrkScript.anyOf(goal, below: "/stored/", in: root)
      _ = try load(url, random)
      var times = Samples()
      for _ in 0..<rounds { times.append(1 / (try load(url, random).rate)) }
      hit.add(goal, times)
      memory.add(goal, Samples([Double(running.proportionalBytes)]))
      disk.add(goal, Samples([Double(try Self.bytes(below: root + "/store"))]))
    }
    return [storing, hit, start, memory, disk]
  }

  /// Asks for numbers that were not asked for before, each once.
  private func store(_ numbers: Range<Int>, _ port: Int) throws {
    _ = try Measurement.run([
      "taskset", "-c", Self.clientCore, "curl", "-sf", "-Z", "--parallel-max", "64", "-o", "/dev/null", "-H",
      "Host: 127.0.0.1", "http://127.0.0.1:\(port)/stored/[\(numbers.lowerBound)-\(numbers.upperBound - 1)]",
    ])
  }

  /// The bytes of a folder, as du(1) counts them.
  private static func bytes(below folder: String) throws -> Int64 {
    let text = try Measurement.output(["du", "-sk", folder])
    return (text.split(whereSeparator: \.isWhitespace).first.flatMap { Int64($0) } ?? 0) << 10
  }

  // MARK: Clients

  /// The time of one request where so many clients ask at once: what a request costs, while the server is busy.
  private func requests(_ origin: LocalServer) throws -> [Curve] {
    var curves: [Curve] = []
    let running = try host(origin.origin)
    let plain = "http://127.0.0.1:\(running.gatewayPort)"
    curves.append(try curve("clients-hits", "a hit, by clients", plain + "/1024", Self.clients))
    curves.append(
      try curve(
        "clients-passed-on", "a request that is passed on, by clients", plain + "/pass", Self.waitingClients))
    running.stop()
    let secure = try host(origin.origin, certificate: Certificate(in: root))
    defer { secure.stop() }
    curves.append(
      try curve(
        "clients-tls", "a hit over TLS, by clients", "https://127.0.0.1:\(secure.gatewayPort)/1024", Self.clients))
    return curves
  }

  private func curve(_ name: String, _ title: String, _ url: String, _ counts: [Int]) throws -> Curve {
    var curve = Curve(name, title, unit: "clients", isOfOne: true)
    for clients in counts {
      // Long enough for all handshakes.
      _ = try load(url, connections: clients, seconds: 5)
      var times = Samples()
      for _ in 0..<rounds { times.append(1 / (try load(url, connections: clients, seconds: 5).rate)) }
      curve.add(clients, times)
    }
    return curve
  }

  // MARK: Answers and origins

  private func sizes(_ origin: LocalServer) throws -> Curve {
    var curve = Curve("answer-size", "a hit, by the size of the answer", unit: "bytes", isOfOne: true)
    let running = try host(origin.origin)
    defer { running.stop() }
    for size in Self.sizes {
      let url = "http://127.0.0.1:\(running.gatewayPort)/\(size)"
      _ = try load(url, connections: 4, seconds: 2)
      var times = Samples()
      for _ in 0..<rounds { times.append(1 / (try load(url, connections: 4, seconds: 3).rate)) }
      curve.add(size, times)
    }
    return curve
  }

  /// One client, whose requests are passed on.
  private func delays() throws -> Curve {
    var curve = Curve(
      "origin-delay", "a request of one client that is passed on, by the origin's time", unit: "ms", isOfOne: true)
    for milliseconds in Self.delays {
      let origin = try SlowOrigin(delay: useconds_t(milliseconds * 1_000), isStored: false)
      defer { origin.stop() }
      let running = try host("http://127.0.0.1:\(origin.port)")
      defer { running.stop() }
      var times = Samples()
      for _ in 0..<rounds {
        times.append(1 / (try load("http://127.0.0.1:\(running.gatewayPort)/a", connections: 1, seconds: 2).rate))
      }
      curve.add(milliseconds, times)
    }
    return curve
  }
}
