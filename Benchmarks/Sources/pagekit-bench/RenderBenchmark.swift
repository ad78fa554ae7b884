import Foundation

/// Pages that renderhost runs, and what it takes to keep it.
struct RenderBenchmark {
  let renderhost: String
  /// The program `bare-engine`.
  let engine: String
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
    var costs: [[(daemon: Double, workers: Double)]] = [[], []]
    var bare: [Double] = []
    var latencies: [Double] = []
    for round in 0...rounds {
      for (index, host) in hosts.enumerated() {
        let url = host.server.origin + "/render?name=page&format=json"
        let (seconds, before) = (round == 0 ? 1 : 3, host.server.processorSeconds)
        let load = try Load(url, connections: 4, seconds: seconds)
        let (after, pages) = (host.server.processorSeconds, load.rate * Double(seconds))
        guard round > 0 else { continue }
        rates[index].append(load.rate)
        costs[index].append(((after.own - before.own) / pages, (after.children - before.children) / pages))
      }
      bare.append(try PageBenchmark(engine: engine, folder: folder, rounds: 1).bare("stub", root + "/bundles/page.js"))
      let one = try Load(hosts[1].server.origin + "/render?name=page&format=html", connections: 1, seconds: 2)
      if round > 0 { latencies.append(one.p99) }
    }
    let medians = rates.map(Measurement.median)
    table.add("pages per second, one worker", "\(Int(medians[0]))", "")
    table.add(
      "pages per second, two workers",
      "\(Int(medians[1])), \(Figures.ratio(medians[1] / medians[0])) times as many", "1.8 times as many")
    let peer = Measurement.median(bare)
    for (index, workers) in ["one worker", "two workers"].enumerated() {
      let (daemon, own) = (costs[index].map(\.daemon), costs[index].map(\.workers))
      table.add("processor time of a page in the daemon, \(workers)", Figures.time(Measurement.median(daemon)), "")
      let time = Measurement.median(own)
      table.add(
        "processor time of a page in the worker, \(workers)",
        "\(Figures.time(time)), \(Figures.ratio(time / peer)) of the bare engine", "at most 4")
    }
    table.add("p99 of a hot page as HTML, asked for one by one", Figures.time(Measurement.median(latencies)), "")
    table.add("memory (PSS) of the idle daemon and two workers", "\(idle >> 20) MiB", "at most 100 MiB")
  }
}
