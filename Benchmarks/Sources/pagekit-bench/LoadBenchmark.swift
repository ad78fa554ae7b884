import Foundation

/// What many clients of `/render` get, alone and beside pages that loop or eat memory; and how many pages can be open.
struct LoadBenchmark {
  let renderhost: String
  let folder: String
  /// Seconds of each row.
  let seconds: Int

  private static let counts = [1, 4, 16, 64, 200, 1_000]

  /// A hundred cells and 5 ms of work.
  private static let cells = page(
    """
    for (var i = 0; i < 100; i++) {
      var e = d.createElement('div', { style: { color: 'red' } }), t = d.createElement('text', { attr: { value: 'cell ' + i } })
      e.appendChild(t); b.appendChild(e)
    }
    var began = Date.now(); while (Date.now() - began < 5) {}
    """)
  private static let looping = page("while (true) {}")
  private static let eating = page("var all = []; while (true) all.push(new Array(100000).fill(all.length))")

  private static func page(_ script: String) -> String {
    """
    // { "framework": "Vanilla" }
    var d = weex.document, b = d.createElement('div'); d.documentElement.appendChild(b)
    \(script)
    """
  }

  func run(_ table: inout Table) throws {
    let root = folder + "/load"
    try? FileManager.default.removeItem(atPath: root)
    try FileManager.default.createDirectory(atPath: root + "/bundles", withIntermediateDirectories: true)
    for (name, script) in [("cells", Self.cells), ("looping", Self.looping), ("eating", Self.eating)] {
      try Data(script.utf8).write(to: URL(fileURLWithPath: "\(root)/bundles/\(name).js"))
    }
    for (place, other) in [
      ("alone", nil), ("beside looping pages", "looping"), ("beside pages that eat memory", "eating"),
    ] {
      let host = try RunningHost(
        renderhost, bundles: root + "/bundles", store: root + "/store", workers: 2, log: root + "/host.log")
      defer { host.stop() }
      _ = try Clients.run("/render?name=cells&format=json", port: host.server.port, clients: 2, seconds: 1)
      for count in Self.counts {
        let before = try kills(host)
        let beside = try other.map {
          try Clients.start("/render?name=\($0)", port: host.server.port, clients: 2, seconds: seconds + 1)
        }
        let result = try Clients.run(
          "/render?name=cells&format=json", port: host.server.port, clients: count, seconds: seconds)
        try beside?.finish()
        func time(_ share: Double) -> String { result.time(below: share).map(Figures.time) ?? "-" }
        table.add(
          "\(count) clients, \(place)", String(format: "%.0f", result.rate), time(0.5), time(0.99),
          "\(result.statuses[503] ?? 0)", "\(result.failures)", "\(try kills(host) - before)")
      }
    }
  }

  /// Workers that were ended since the daemon's start.
  private func kills(_ host: RunningHost) throws -> Int {
    try Measurement.output(["curl", "-sf", host.server.origin + "/metrics"]).split(separator: "\n")
      .filter { $0.hasPrefix("renderhost_worker_kills_total") }
      .reduce(0) { $0 + (Int($1.split(separator: " ").last ?? "") ?? 0) }
  }

  /// Opens pages until one is refused.
  func open(_ table: inout Table) throws {
    let root = folder + "/load"
    let host = try RunningHost(
      renderhost, bundles: root + "/bundles", store: root + "/store", workers: 2, log: root + "/host.log")
    defer { host.stop() }
    let idle = host.proportionalBytes
    var opened: [String] = []
    var last = ""
    let start = ContinuousClock.now
    while opened.count < 10_000 {
      last = try Measurement.output([
        "curl", "-s", "-X", "POST", "-H", "Content-Type: application/json", "-d", #"{"name":"cells"}"#,
        host.server.origin + "/pages",
      ])
      struct Page: Decodable { let id: String }
      guard let page = try? JSONDecoder().decode(Page.self, from: Data(last.utf8)) else { break }
      opened.append(page.id)
    }
    let elapsed = ContinuousClock.now - start
    let bytes = host.proportionalBytes
    let alive = try opened.filter {
      try Measurement.output([
        "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", host.server.origin + "/pages/\($0)",
      ]) == "200"
    }
    table.add("pages opened until one is refused", "\(opened.count), in \(Figures.time(elapsed / .seconds(1)))")
    table.add("the refusal", last.replacing("\n", with: " "))
    table.add("of those, still open at the end", "\(alive.count)")
    table.add("memory (PSS) of each", "\(((bytes - idle) >> 10) / Int64(max(1, opened.count))) KiB")
    table.add("workers ended", "\(try kills(host))")
  }
}
