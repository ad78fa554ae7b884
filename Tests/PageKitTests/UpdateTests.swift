import PageKit
import PageTesting
import Testing

/// News of newer bytes, and pages that open with them.
struct UpdateTests {
  @Test("a page and its host hear of a new release, and a reload takes it")
  func newRelease() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let host = try site.host()
      _ = await host.preload().report()
      let page = try await host.open(site.origin.url(for: "/b/one.js"))
      var heard = page.events.makeAsyncIterator()
      var news = host.news.makeAsyncIterator()
      try site.publish("second")
      try await host.refresh()
      #expect(await host.preload().report().activated)
      guard case .release(let release)? = await news.next() else { return #expect(Bool(false), "no news") }
      #expect(release.name == "second")
      while let event = await heard.next() {
        guard case .updateAvailable(.release(let release)) = event else { continue }
        #expect(release.name == "second")
        break
      }
      #expect(await page.view?.release.name == "first")
      #expect(await page.tree.outline.contains("first"))
      try await page.reload()
      #expect(await page.view?.release.name == "second")
      #expect(await page.tree.outline.contains("second"))
      await page.destroy()
    }
  }

  @Test("a page's pictures come from the release of its script")
  func pictures() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let host = try site.host()
      _ = await host.preload().report()
      try site.publish("second")
      site.origin.always("/b/one.js", .status(404))
      try await host.refresh()
      _ = await host.preload().report()
      #expect(try await site.shown("one", host) == "first one.js with its picture")
    }
  }

  @Test("a host without a manifest checks each page by itself")
  func noManifest() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let url = site.origin.url(for: "/b/one.js")
      let host = try PageHost(HostConfiguration(store: StoreDirectory(site.folder.file("store"))))
      #expect(await host.preload().report().failures.isEmpty)
      let page = try await host.open(url)
      #expect(await page.view == nil)
      await page.destroy()
      try await site.origin.refuseConnections()
      let offline = try PageHost(HostConfiguration(store: StoreDirectory(site.folder.file("store"))))
      let again = try await offline.open(url)
      #expect(await again.bundle?.source != .network)
      await again.destroy()
      #expect(site.origin.requestCount(path: "/manifest.json") == 0)
    }
  }

  @Test("the host's news and the policy of one opening reach its pages")
  func policies() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let host = try site.host { $0.pages.opening.rules = [OpenRule(.glob("*/two.js"), .cacheOnly)] }
      await #expect(throws: PageError.self) { try await host.open(site.origin.url(for: "/b/two.js")) }
      let options = PageOptions(policy: .cacheOnly)
      await #expect(throws: PageError.self) { try await host.open(site.origin.url(for: "/b/one.js"), options: options) }
      #expect(site.origin.requests.isEmpty)
    }
  }
}
