import PageKit
import PageTesting
import Testing

/// The two-line set-up, pages rendered ahead, fallbacks and the factory.
struct LaunchTests {
  @Test("a launch preloads in the background, and a page that opens takes precedence")
  func precedence() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      site.origin.hold("/b/two.js")
      let host = try PageHost.launch(site.configuration { $0.releases.preload.jobs = 1 })
      let page = try await host.open(site.origin.url(for: "/b/one.js"))
      #expect(await page.phase == .live)
      site.origin.release("/b/two.js")
      let report = await host.preloading?.report()
      #expect(report?.activated == true)
      #expect(site.origin.requestCount(path: "/manifest.json") == 1)
      #expect(site.origin.requestCount(path: "/b/one.js") == 1)
      await page.destroy()
    }
  }

  @Test("under everyOpen each opening asks the server, and a change shows at once")
  func everyOpen() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let host = try site.host { $0.releases.verification = .everyOpen }
      let before = try await site.shown("one", host)
      try site.publish("second")
      let after = try await site.shown("one", host)
      #expect([before.prefix(5), after.prefix(6)] == ["first", "second"])
      #expect(site.origin.requestCount(path: "/manifest.json") == 2)
    }
  }

  // MARK: Rendered ahead

  @Test("a page that was rendered ahead is opened once")
  func prerendering() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let host = try site.host()
      let url = site.origin.url(for: "/b/one.js")
      try await host.prerender(url)
      try await host.prerender(url)
      #expect(await host.prerenderer.count == 1)
      let before = site.origin.requests.count
      let page = try await host.open(url)
      #expect(site.origin.requests.count == before)
      #expect(page.id == "1")
      #expect(await host.prerenderer.count == 0)
      let other = try await host.open(url)
      #expect(other !== page)
      await page.destroy()
      await other.destroy()
    }
  }

  @Test("a page with other data is not taken from the prerendered ones")
  func otherData() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let host = try site.host()
      let url = site.origin.url(for: "/b/one.js")
      try await host.prerender(url, data: ["tab": 1])
      let page = try await host.open(url, data: ["tab": 2])
      #expect(await host.prerenderer.count == 1)
      await page.destroy()
    }
  }

  @Test("a prerendered page over the limit is refused with the reason")
  func prerenderLimit() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let host = try site.host { $0.pages.prerendering.pages = 1 }
      try await host.prerender(site.origin.url(for: "/b/one.js"))
      let two = site.origin.url(for: "/b/two.js")
      await #expect(throws: PrerenderError.full(url: two, limit: 1)) { try await host.prerender(two) }
    }
  }

  @Test("a prerendered page that is not opened in time goes")
  func expiry() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let host = try site.host { $0.pages.prerendering.timeToLive = .milliseconds(1) }
      let url = site.origin.url(for: "/b/one.js")
      try? await host.prerender(url)
      try await eventually("the page has gone") { await host.prerenderer.count == 0 }
    }
  }

  @Test("a new launch drops prerendered pages")
  func relaunch() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let host = try site.host()
      let url = site.origin.url(for: "/b/one.js")
      try await host.prerender(url)
      #expect(await host.prerenderer.count == 1)
      await host.relaunch()
      #expect(await host.prerenderer.count == 0)
    }
  }

  @Test("a page that cannot be rendered ahead fails with the reason and takes no place")
  func failingPrerender() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let host = try site.host()
      await #expect(throws: PageError.self) { try await host.prerender(site.origin.url(for: "/b/none.js")) }
      #expect(await host.prerenderer.count == 0)
    }
  }

  // MARK: Fallbacks

  @Test("a page that cannot open runs the packaged bundle and has the reason")
  func packagedBundle() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      let packaged = """
        // { "framework": "Vanilla" }
        var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)
        b.appendChild(d.createElement('text', { attr: { value: 'packaged with ' + weex.config.bundleUrl } }))
        """
      let host = try site.host { $0.pages.fallback = { _, _ in .bundle(packaged) } }
      let url = site.origin.url(for: "/b/none.js")
      let page = try await host.open(url)
      #expect(await page.phase == .live)
      #expect(await page.tree.outline.contains("packaged with \(url)"))
      #expect(await page.shownFallback?.reason.description.contains("404") == true)
      await page.destroy()
    }
  }

  @Test(
    "a page that cannot open has the fallback of its options",
    arguments: [PageFallback.placeholder("Try again later."), .html(PageURL("https://example.com/one.html")!)])
  func ownFallback(_ fallback: PageFallback) async throws {
    try await PageSite.running { (site: PageSite) async throws in
      let host = try site.host()
      let url = site.origin.url(for: "/b/none.js")
      let page = try await host.open(url, options: PageOptions(fallback: fallback))
      #expect(await page.phase == .failed)
      #expect(await page.shownFallback?.fallback == fallback)
      // Once the server has the page, it is shown.
      try site.publish("first")
      await host.relaunch()
      await page.destroy()
    }
  }

  @Test("without a fallback the reason is thrown")
  func noFallback() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      let host = try site.host()
      await #expect(throws: PageError.self) { try await host.open(site.origin.url(for: "/b/none.js")) }
    }
  }

  // MARK: The factory

  @Test("the factory makes every page")
  func factory() async throws {
    final class Branded: CachingPageInstance {}
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let host = try site.host { $0.pages.factory = { Branded(environment: $0, registry: $1) } }
      let page = try await host.open(site.origin.url(for: "/b/one.js"))
      #expect(page is Branded)
      await page.destroy()
    }
  }
}
