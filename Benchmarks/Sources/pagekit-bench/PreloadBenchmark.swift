import Foundation

/// Whole commands, side by side, in turn.
struct PreloadBenchmark {
  let bundlectl: String
  let folder: String
  let rounds: Int

  /// 500 bundles into a new store, against curl followed by md5sum and sync.
  func preload(_ table: inout Table) throws {
    let sizes = (0..<500).map { 20_000 + $0 * 300_000 / 499 }
    let site = try Site(root: folder + "/site", sizes: sizes)
    defer { site.stop() }
    let urls = sizes.indices.map { "\(site.origin)/b/p\($0).js" }
    let peer = """
      rm -rf '\(folder)/peer' && mkdir -p '\(folder)/peer' && cd '\(folder)/peer' &&
      curl -s -Z --parallel-max 16 --remote-name-all \(urls.joined(separator: " ")) && md5sum *.js && sync -f .
      """
    let store = folder + "/store"
    var ours: [ProcessCost] = []
    var theirs: [ProcessCost] = []
    for round in 0...rounds {
      try? FileManager.default.removeItem(atPath: store)
      let mine = try Measurement.run([bundlectl, "preload", "--manifest", site.manifest, "--store", store])
      let other = try Measurement.run(["sh", "-c", peer])
      if round > 0 {  // the first warms up
        ours.append(mine)
        theirs.append(other)
      }
    }
    let megabytes = sizes.reduce(0, +) / 1_000_000
    let peerWall = Measurement.median(theirs.map(\.wall))
    add("preload of 500 bundles, \(megabytes) MB", ours, peerWall, "curl -Z, md5sum, sync -f", &table)
  }

  /// A release of 1,000 bundles that is there already, against one conditional GET by curl.
  func unchangedLaunch(_ table: inout Table) throws {
    let site = try Site(root: folder + "/site", sizes: Array(repeating: 5_000, count: 1000))
    defer { site.stop() }
    let store = folder + "/store"
    try? FileManager.default.removeItem(atPath: store)
    let command = [bundlectl, "preload", "--manifest", site.manifest, "--store", store]
    _ = try Measurement.run(command)
    let curl = ["curl", "-s", "-z", "\(site.root)/www/manifest.json", site.manifest]
    var ours: [ProcessCost] = []
    var theirs: [ProcessCost] = []
    for _ in 0..<rounds * 4 {
      ours.append(try Measurement.run(command))
      theirs.append(try Measurement.run(curl))
    }
    let peerWall = Measurement.median(theirs.map(\.wall))
    add("unchanged launch, 1,000 bundles", ours, peerWall, "one conditional GET by curl", &table)
  }

  private func add(
    _ what: String, _ ours: [ProcessCost], _ peerWall: Double, _ peer: String, _ table: inout Table
  ) {
    let wall = Measurement.median(ours.map(\.wall))
    let memory = ours.map(\.residentBytes).max() ?? 0
    table.add(
      what, Figures.time(wall), "\(peer): \(Figures.time(peerWall))", Figures.ratio(wall / peerWall),
      "\(memory >> 20) MiB")
  }
}
