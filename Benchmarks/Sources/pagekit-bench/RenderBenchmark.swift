import Foundation

/// Pages that renderhost runs, and what it takes to keep it.
struct RenderBenchmark {
  let renderhost: String
  let folder: String
  let rounds: Int

  func run(_ table: inout Table) throws {
    let root = folder + "/render"
    try? FileManager.default.removeItem(atPath: root)
    try FileManager.default.createDirectory(atPath: root + "/bundles", withIntermediateDirectories: true)
    try Data(PageBenchmark.bundle.utf8).write(to: URL(fileURLWithPath: root + "/bundles/page.js"))
    let hosts = try [1, 2].map { workers in
      try RunningHost(
        renderhost, bundles: root + "/bundles", store: "\(root)/store\(workers)", workers: workers,
        log: "\(root)/host\(workers).log")
    }
    defer { for host in hosts { host.stop() } }
    sleep(2)  // until what was needed at the start only has been given back
    let idle = hosts[1].proportionalBytes

    var rates: [[Double]] = [[], []]
    var latencies: [Double] = []
    for round in 0...rounds {
      for (index, host) in hosts.enumerated() {
        let url = host.server.origin + "/render?name=page&format=json"
        let load = try Load(url, connections: 4, seconds: round == 0 ? 1 : 3)
        if round > 0 { rates[index].append(load.rate) }
      }
      let one = try Load(hosts[1].server.origin + "/render?name=page&format=html", connections: 1, seconds: 2)
      if round > 0 { latencies.append(one.p99) }
    }
    let medians = rates.map(Measurement.median)
    table.add("pages per second, one worker", "\(Int(medians[0]))", "")
    table.add(
      "pages per second, two workers",
      "\(Int(medians[1])), \(Figures.ratio(medians[1] / medians[0])) times as many", "1.8 times as many")
    table.add("p99 of a hot page as HTML, asked for one by one", Figures.time(Measurement.median(latencies)), "")
    table.add("memory (PSS) of the idle daemon and two workers", "\(idle >> 20) MiB", "at most 100 MiB")
  }
}
