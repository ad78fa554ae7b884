import Foundation
import PageKit
import PageTesting
import Testing

/// Pages of a host, with the requests that the server gets.
struct PageHostTests {
  @Test("fifty openings in one launch ask for the manifest once and for nothing else")
  func manyOpenings() async throws {
    try await PageSite.running { (site: PageSite) async throws in
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

  @Test("a change on the server shows at the next launch and not before")
  func nextLaunch() async throws {
    try await PageSite.running { (site: PageSite) async throws in
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

  @Test("preloaded pages open without a request when the server is gone")
  func serverGone() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      _ = await (try site.host()).preload().report()
      try await site.origin.refuseConnections()
      let shown = try await site.shown("two", try site.host())
      #expect(shown == "first two.js with its picture")
    }
  }

  @Test("a changed byte in the store is found at the next opening and repaired")
  func damagedStore() async throws {
    try await PageSite.running { (site: PageSite) async throws in
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

  @Test("a reload that ignores the cache fetches the bundle again")
  func reloading() async throws {
    try await PageSite.running { (site: PageSite) async throws in
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

  @Test("values that pages store are there in the next launch")
  func storage() async throws {
    try await PageSite.running { (site: PageSite) async throws in
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
        await page.settle(within: .seconds(60))
        let shown = await page.tree.elements.values.compactMap { $0.attributes["value"]?.string }
        #expect(shown == [expected])
        await page.destroy()
      }
    }
  }
}
