import PageKit
import PageTesting
import Testing

/// The preload that a launch starts, and the app's setting of the network.
struct LaunchPreloadTests {
  @Test("a launch's preload continues when the server comes back")
  func returningServer() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      try await site.origin.refuseConnections()
      let host = try PageHost.launch(
        site.configuration {
          $0.network.retry.attempts = 1
          $0.releases.preloadSchedule.firstPause = .milliseconds(50)
        })
      let preload = try #require(host.preloading)
      for await update in preload.updates where update.pause != nil { break }
      try await site.origin.acceptConnections()
      let report = await preload.report()
      #expect((report.failures, report.activated) == ([], true))
      withExtendedLifetime(host) {}
    }
  }

  @Test("a new launch preloads what is new")
  func relaunching() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let host = try PageHost.launch(site.configuration())
      #expect(await host.preloading?.report().release == "first")
      try site.publish("second")
      await host.relaunch()
      let report = await host.preloading?.report()
      #expect(report?.release == "second" && report?.activated == true)
    }
  }

  @Test("a host that was not launched preloads when it is told to")
  func relaunchingWithoutALaunch() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let host = try site.host()
      await host.relaunch()
      #expect(host.preloading == nil)
    }
  }

  @Test("offline no request is sent, for bundles or for pages, and stored pages open at once")
  func offline() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      _ = await (try site.host()).preload().report()
      let before = site.origin.requests.count
      let host = try site.host()
      host.reachability.setting = .offline
      #expect(try await site.shown("one", host) == "first one.js with its picture")
      await #expect(throws: (any Error).self) {
        try await host.bundles.load(try #require(PageURL(site.origin.url(for: "/b/none.js"))))
      }
      let report = await host.preload().report()
      #expect(report.failures.first?.error.contains("the network is set to offline") == true)
      #expect(site.origin.requests.count == before)
      // Origins that failed are asked again.
      try site.publish("second")
      host.reachability.setting = .observed
      #expect(await host.preload().report().release == "second")
      #expect(try await site.shown("one", host) == "second one.js with its picture")
    }
  }
}
