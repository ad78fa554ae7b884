import Foundation

/// The first preload over slow links, against curl.
struct LinkBenchmark {
  /// Each link carries so many bundles, which take it so many seconds.
  private static let (count, seconds) = (24, 2.0)
  private static let links: [(milliseconds: Int, megabytesPerSecond: Double)] = [
    (20, 10), (100, 2), (300, 1), (600, 0.2),
  ]

  let bundlectl: String
  let folder: String
  let rounds: Int

  /// - Throws: ``Measurement/Failed``.
  func run(_ table: inout Table) throws {
    for link in Self.links {
      let size = Int(link.megabytesPerSecond * 1e6 * Self.seconds) / Self.count
      let site = try Site(root: folder + "/site", sizes: Array(repeating: size, count: Self.count))
      defer { site.stop() }
      let slow = try SlowLink(
        roundTrip: .milliseconds(link.milliseconds), bytesPerSecond: link.megabytesPerSecond * 1e6, to: site.port)
      defer { slow.stop() }
      let manifest = slow.origin + "/manifest.json"
      let urls = (0..<Self.count).map { "\(slow.origin)/b/p\($0).js" }.joined(separator: " ")
      // The URLs are known when the manifest is here, as they are to a preload.
      let peer = """
        mkdir -p '\(folder)/peer' && cd '\(folder)/peer' &&
        curl -s -O \(manifest) && curl -s -Z --parallel-max 16 --remote-name-all \(urls) && md5sum *.js && sync -f .
        """
      var (ours, theirs) = (Samples(), Samples())
      for _ in 0..<rounds {
        for used in ["/store", "/peer"] { try? FileManager.default.removeItem(atPath: folder + used) }
        ours.append(
          try Measurement.run([bundlectl, "preload", "--manifest", manifest, "--store", folder + "/store"]).wall)
        theirs.append(try Measurement.run(["sh", "-c", peer]).wall)
      }
      table.add(
        "\(link.milliseconds) ms, \(link.megabytesPerSecond) MB/s: \(Self.count) bundles, \(size >> 10) KiB each",
        ours.text(), theirs.text(), Figures.ratio(ours.median / theirs.median))
    }
  }
}
