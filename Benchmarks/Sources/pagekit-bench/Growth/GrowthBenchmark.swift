import Foundation
import PageKit

/// How costs grow with what is there.
struct GrowthBenchmark {
  let bundlectl: String
  let folder: String
  let rounds: Int

  func run() async throws -> [Curve] {
    try bundles() + [try bundleSizes(), try manifests()] + (try await pages()) + [try await commands()]
  }

  // MARK: Commands

  private func preload(_ site: Site, _ store: String) throws -> Double {
    try Measurement.run([bundlectl, "preload", "--manifest", site.manifest, "--store", store]).wall
  }

  /// Bundles of 1 KB: the first preload, a launch without a change, and one after a bundle has changed.
  private func bundles() throws -> [Curve] {
    var first = Curve("first-preload", "first preload", unit: "bundles")
    var unchanged = Curve("unchanged-launch", "unchanged launch", unit: "bundles")
    var changed = Curve("changed-launch", "launch after one bundle changed", unit: "bundles")
    let store = folder + "/growth/store"
    for count in [10, 100, 1_000, 10_000] {
      let site = try Site(root: folder + "/growth/site", sizes: Array(repeating: 1_000, count: count))
      defer { site.stop() }
      var times = (Samples(), Samples(), Samples())
      for round in 0..<rounds {
        try? FileManager.default.removeItem(atPath: store)
        times.0.append(try preload(site, store))
        // The first launch looks at all files, once their folders have not changed for two seconds.
        sleep(3)
        _ = try preload(site, store)
        times.1.append(try preload(site, store))
        try site.change(0, release: "changed \(round)")
        times.2.append(try preload(site, store))
      }
      first.add(count, times.0)
      unchanged.add(count, times.1)
      changed.add(count, times.2)
    }
    return [first, unchanged, changed]
  }

  /// The first preload of eight bundles.
  private func bundleSizes() throws -> Curve {
    var curve = Curve("bundle-size", "first preload of 8 bundles", unit: "KB each")
    let store = folder + "/growth/store"
    for kilobytes in [1, 8, 64, 512, 1_024, 8_192] {
      let site = try Site(root: folder + "/growth/site", sizes: Array(repeating: kilobytes << 10, count: 8))
      defer { site.stop() }
      var times = Samples()
      for _ in 0..<rounds {
        try? FileManager.default.removeItem(atPath: store)
        times.append(try preload(site, store))
      }
      curve.add(kilobytes, times)
    }
    return curve
  }

  /// Manifests that are read and checked.
  private func manifests() throws -> Curve {
    var curve = Curve("manifest", "manifest check", unit: "entries")
    let path = folder + "/growth/manifest.json"
    for count in [10, 100, 1_000, 10_000, 100_000] {
      let entries = try (0..<count).map {
        try SiteManifest.Entry(name: "p\($0)", path: "p\($0).js", Array("\($0)".utf8))
      }
      // With a base elsewhere no bundle is looked for beside it.
      try SiteManifest(release: "growth", base: "https://pages.example.com/", bundles: entries).write(to: path)
      var times = Samples()
      for _ in 0..<rounds { times.append(try Measurement.run([bundlectl, "manifest", "check", path]).wall) }
      curve.add(count, times)
    }
    return curve
  }

  // MARK: Pages

  /// Pages of 100 cells that stay open, until the last has.
  private func pages() async throws -> [Curve] {
    var alone = Curve("pages-in-turn", "pages that open one after the other", unit: "pages")
    var together = Curve("pages-at-once", "pages that open at once", unit: "pages")
    for count in [1, 10, 100, 500] {
      var times = (Samples(), Samples())
      for _ in 0..<rounds {
        let host = try PageHost(.init(store: StoreDirectory(folder + "/growth/pages")))
        await host.prepare()
        var pages: [PageInstance] = []
        times.0.append(
          try await Measurement.time(1) {
            for _ in 0..<count { pages.append(try await Self.opened(host, PageBenchmark.bundle)) }
          })
        for page in pages { await page.destroy() }
        pages = []
        times.1.append(
          try await Measurement.time(1) {
            try await withThrowingTaskGroup(of: PageInstance.self) { group in
              for _ in 0..<count { group.addTask { try await Self.opened(host, PageBenchmark.bundle) } }
              for try await page in group { pages.append(page) }
            }
          })
        for page in pages { await page.destroy() }
        await host.shutDown()
      }
      alone.add(count, times.0)
      together.add(count, times.1)
    }
    return [alone, together]
  }

  /// A page that sends render commands: each adds an element with an attribute.
  private func commands() async throws -> Curve {
    var curve = Curve("commands", "a page's render commands", unit: "commands")
    var configuration = HostConfiguration(store: StoreDirectory(folder + "/growth/pages"))
    configuration.pages.scripts.limits = ScriptLimits(time: .seconds(60))
    let host = try PageHost(configuration)
    for count in [100, 1_000, 10_000, 100_000] {
      let source = """
        // { "framework": "Vanilla" }
        var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)
        for (var i = 0; i < \(count); i++) b.appendChild(d.createElement('text', { attr: { value: 'item ' + i } }))
        """
      var times = Samples()
      for round in 0...rounds {
        let page = await host.page()
        let time = try await Measurement.time(1) { try await page.render(source) }
        await page.destroy()
        if round > 0 { times.append(time) }
      }
      curve.add(count, times)
    }
    await host.shutDown()
    return curve
  }

  @PageActor private static func opened(_ host: PageHost, _ source: String) async throws -> PageInstance {
    let page = host.page()
    try await page.render(source)
    return page
  }
}
