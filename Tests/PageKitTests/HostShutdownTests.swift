import PageKit
import PageTesting
import Testing

struct HostShutdownTests {
  @Test("shutting down ends requests, downloads and pages on the stack, and later requests fail at once")
  func shuttingDown() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let host = try PageHost.launch(site.configuration())
      _ = await host.preloading?.report()
      site.origin.hold("/slow")
      let pictures = (0..<3).map { number in
        Task { try await host.resources.response(for: ResourceRequest(site.origin.url(for: "/slow?\(number)"))) }
      }
      try await site.origin.waitForRequests(3, to: "/slow")
      let page = await host.page()
      try await page.renderByURL(site.origin.url(for: "/b/one.js"))
      await host.stack.show(page)
      await host.shutDown()
      for picture in pictures { await #expect(throws: (any Error).self) { try await picture.value } }
      #expect(await page.phase == .destroyed)
      try await site.origin.waitForOpenConnections(0)
      await #expect(throws: (any Error).self) {
        try await host.resources.response(
          for: ResourceRequest(site.origin.url(for: "/later"), behavior: .networkOnly))
      }
      #expect(site.origin.requestCount(path: "/later") == 0)
      await host.shutDown()
    }
  }
}
