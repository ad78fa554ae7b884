import Foundation
import PageKit
import PageTesting
import Testing

/// Pages of a host, counted at the server.
struct PageHostTests {
  private struct Site {
    let origin: FaultOrigin
    let folder: TemporaryDirectory

    static func running(_ body: (Site) async throws -> Void) async throws {
      try await FaultOrigin.running { (origin: FaultOrigin) async throws in
        try await body(Site(origin: origin, folder: try TemporaryDirectory()))
      }
    }

    /// A release of two pages that show this word and a picture.
    func publish(_ word: String) throws {
      func entry(_ path: String, _ text: String) throws -> Manifest.Entry {
        let bytes = Array(text.utf8)
        origin.serve("/b/\(path)", bytes)
        let name = Manifest.Entry.name(forPath: path)
        return Manifest.Entry(
          name: name, path: path, size: Int64(bytes.count), md5: try ContentDigests(of: bytes).md5)
      }
      let source = """
        // { "framework": "Vanilla" }
        var d = weex.document, b = d.createBody('div')
        d.documentElement.appendChild(b)
        b.appendChild(d.createElement('text', { attr: { value: '\(word) ' + weex.config.bundleUrl.split('/').pop() } }))
        b.appendChild(d.createElement('image', { attr: { src: 'i.svg' } }))
        """
      let manifest = Manifest(
        release: word, sequence: 1, base: "b/",
        bundles: try ["one.js", "two.js"].map { try entry($0, source + "\n// \($0)") },
        files: [try entry("i.svg", "<svg width='4' height='3'></svg>")])
      origin.serve("/manifest.json", Array(try JSONEncoder().encode(manifest)), etag: "\"\(word)\"")
    }

    func host() throws -> PageHost {
      var configuration = try HostConfiguration(
        manifest: origin.url(for: "/manifest.json"), store: StoreDirectory(folder.file("store")))
      configuration.patience = .seconds(30)
      return try PageHost(configuration)
    }

    /// What a page of the host shows.
    func shown(_ name: String, _ host: PageHost) async throws -> String {
      let page = await host.page()
      try await page.renderByURL(origin.url(for: "/b/\(name).js"))
      await page.settle(within: .seconds(10))
      let tree = await page.tree
      await page.destroy()
      let elements = tree.elements.values
      let text = elements.compactMap { $0.attributes["value"]?.string }.joined()
      let picture = elements.contains { element in
        if case .loaded? = element.image { true } else { false }
      }
      return text + (picture ? " with its picture" : "")
    }
  }

  @Test func fiftyOpensInOneLaunchAskForTheManifestOnceAndForNothingElse() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish("first")
      let host = try site.host()
      #expect(await host.preload().report().activated)
      await host.relaunch()
      let before = site.origin.requests.count
      for number in 0..<50 {
        let name = number % 2 == 0 ? "one" : "two"
        let shown = try await site.shown(name, host)
        #expect(shown == "first \(name).js with its picture")
      }
      #expect(site.origin.requests.dropFirst(before).map(\.path) == ["/manifest.json"])
    }
  }

  @Test func aChangeOnTheServerShowsAtTheNextLaunchAndNotBefore() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish("first")
      let host = try site.host()
      _ = await host.preload().report()
      try site.publish("second")
      let before = try await site.shown("one", host)
      #expect(before.hasPrefix("first"))
      await host.relaunch()
      let after = try await site.shown("one", host)
      #expect(after.hasPrefix("second"))
    }
  }

  @Test func whatWasPreloadedOpensWithTheServerGoneAndAskingNobody() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish("first")
      _ = await (try site.host()).preload().report()
      try await site.origin.refuseConnections()
      let shown = try await site.shown("two", try site.host())
      #expect(shown == "first two.js with its picture")
    }
  }

  @Test func aByteThatChangedInTheStoreIsCaughtAtTheNextOpenAndMended() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish("first")
      let host = try site.host()
      _ = await host.preload().report()
      let blobs = site.folder.file("store/blobs")
      for path in try FileManager.default.subpathsOfDirectory(atPath: blobs) where path.count > 10 {
        try FileManager.default.removeItem(atPath: "\(blobs)/\(path)")
        try Data("damaged".utf8).write(to: URL(fileURLWithPath: "\(blobs)/\(path)"))
      }
      let shown = try await site.shown("one", try site.host())
      #expect(shown == "first one.js with its picture")
    }
  }

  @Test func aReloadThatIgnoresTheCacheFetchesTheBundleAnew() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish("first")
      let host = try site.host()
      _ = await host.preload().report()
      let page = await host.page()
      try await page.renderByURL(site.origin.url(for: "/b/one.js"))
      let before = site.origin.requestCount(path: "/b/one.js")
      try await page.reload()
      #expect(site.origin.requestCount(path: "/b/one.js") == before)
      try await page.reload(ignoringCache: true)
      #expect(site.origin.requestCount(path: "/b/one.js") == before + 1)
      await page.destroy()
    }
  }

  @Test func whatPagesStoreIsThereForTheNextLaunch() async throws {
    try await Site.running { (site: Site) async throws in
      for (value, expected) in [("one", "nothing"), ("two", "one")] {
        let host = try site.host()
        let page = await host.page()
        try await page.render(
          """
          // { "framework": "Vanilla" }
          var d = weex.document, b = d.createBody('div'), t = d.createElement('text')
          d.documentElement.appendChild(b); b.appendChild(t)
          var storage = weex.requireModule('storage')
          storage.getItem('key', function (r) {
            t.setAttr('value', r.result === 'success' ? r.data : 'nothing')
            storage.setItem('key', '\(value)', function () {})
          })
          """)
        await page.settle(within: .seconds(10))
        let shown = await page.tree.elements.values.compactMap { $0.attributes["value"]?.string }
        #expect(shown == [expected])
        await page.destroy()
      }
    }
  }
}
