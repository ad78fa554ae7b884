import Foundation

/// Whole commands, side by side, in turn.
struct PreloadBenchmark {
  let bundlectl: String
  let folder: String
  let rounds: Int

  /// Bundles of these sizes into a new store, against curl followed by md5sum and sync into a new folder. What was there
  /// before is removed outside of the measured time.
  func preload(_ table: inout Table, _ sizes: [Int]) throws {
    let site = try Site(root: folder + "/site", sizes: sizes)
    defer { site.stop() }
    let urls = sizes.indices.map { "\(site.origin)/b/p\($0).js" }
    let peer = """
      mkdir -p '\(folder)/peer' && cd '\(folder)/peer' &&
      curl -s -Z --parallel-max 16 --remote-name-all \(urls.joined(separator: " ")) && md5sum *.js && sync -f .
      """
    let store = folder + "/store"
    var ours: [ProcessCost] = []
    var theirs: [ProcessCost] = []
    for round in 0...rounds {
      for used in [store, folder + "/peer"] { try? FileManager.default.removeItem(atPath: used) }
      sync()
      let mine = try Measurement.run([bundlectl, "preload", "--manifest", site.manifest, "--store", store])
      let other = try Measurement.run(["sh", "-c", peer])
      if round > 0 {  // the first warms up
        ours.append(mine)
        theirs.append(other)
      }
    }
    let megabytes = sizes.reduce(0, +) / 1_000_000
    add("preload of \(sizes.count) bundles, \(megabytes) MB", ours, theirs, "curl -Z, md5sum, sync -f", &table)
  }

  /// A release that is stored, without a change and with one, against one conditional GET by curl.
  func launches(_ table: inout Table, _ count: Int) throws {
    let site = try Site(root: folder + "/site", sizes: Array(repeating: 5_000, count: count))
    defer { site.stop() }
    let store = folder + "/store"
    try? FileManager.default.removeItem(atPath: store)
    let command = [bundlectl, "preload", "--manifest", site.manifest, "--store", store]
    _ = try Measurement.run(command)
    let curl = ["curl", "-s", "-z", "\(site.root)/www/manifest.json", site.manifest]
    var looking: [ProcessCost] = []
    var unchanged: [ProcessCost] = []
    var changed: [ProcessCost] = []
    var theirs: [ProcessCost] = []
    for round in 0..<rounds {
      // Folders that have changed less than two seconds ago are not believed.
      sleep(3)
      looking.append(try Measurement.run(command))
      for _ in 0..<4 {
        unchanged.append(try Measurement.run(command))
        theirs.append(try Measurement.run(curl))
      }
      try site.change(0, release: "changed \(round)")
      changed.append(try Measurement.run(command))
    }
    let peer = "one conditional GET by curl"
    add("first unchanged launch after a change, \(count) bundles", looking, theirs, peer, &table)
    add("unchanged launch, \(count) bundles", unchanged, theirs, peer, &table)
    add("one of \(count) bundles changed", changed, theirs, peer, &table)
  }

  private func add(
    _ what: String, _ ours: [ProcessCost], _ theirs: [ProcessCost], _ peer: String, _ table: inout Table
  ) {
    let (wall, peerWall) = (Samples(ours.map(\.wall)), Samples(theirs.map(\.wall)))
    let memory = ours.map(\.residentBytes).max() ?? 0
    table.add(
      what, wall.text(), "\(peer): \(peerWall.text())", Figures.ratio(wall.median / peerWall.median),
      "\(memory >> 20) MiB")
  }
}
