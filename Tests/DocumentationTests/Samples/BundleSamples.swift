import Foundation
import PageKit

/// Samples of "Use your Weex app's bundles" and "Bundles and releases".
enum BundleSamples {
  static func frameworkFiles(_ configuration: inout HostConfiguration) throws {
    configuration.pages.scripts.frameworks[.vue] = try String(contentsOfFile: "weex-main-jsfm.js", encoding: .utf8)
    configuration.pages.scripts.preludes[.rax] = try String(contentsOfFile: "weex-rax-api.js", encoding: .utf8)
  }

  static func signedReleases(_ rootBytes: [UInt8]) throws -> HostConfiguration {
    var configuration = try HostConfiguration(manifest: "https://pages.example.com/manifest.json")
    configuration.releases.trust = try ReleaseTrust(root: rootBytes, freshFor: .seconds(7 * 86_400))  // 1.root.json
    return configuration
  }

  static func disabledBundles(_ configuration: inout HostConfiguration) {
    configuration.pages.fallback = { _, reason in
      guard case .bundle(BundleError.disabled(_, let message)) = reason else { return nil }
      return .placeholder(message)  // the publisher's text for the user
    }
  }

  static func embeddedRelease() throws -> HostConfiguration {
    var configuration = try HostConfiguration(manifest: "https://pages.example.com/manifest.json")
    configuration.releases.embedded = "/opt/shop/pages.sqlar"  // of bundlectl release export
    return configuration
  }

  static func channel(_ configuration: inout HostConfiguration) {
    configuration.releases.channel = "beta"  // nil for the source's own release
    configuration.releases.runtimeVersion = "1.4.0"  // of the modules and components that the app registers
  }

  static func releasesOnTrial() async throws {
    var configuration = try HostConfiguration(manifest: "https://pages.example.com/manifest.json")
    configuration.releases.trial?.failures = 2
    configuration.releases.trial?.duration = .seconds(10)
    let host = try PageHost.launch(configuration)
    let page = try await host.open("https://pages.example.com/bundles/home.js")
    await page.markReady()  // once the app knows that the page works
    for await news in host.news {
      if case .undone(let bad, let current) = news { print("\(bad); release \(current.name) is shown") }
    }
  }

  /// The app's own connection to its server.
  struct Session: Sendable {
    func reportToken() async throws -> String { "" }
  }

  static func reports(_ configuration: inout HostConfiguration, _ session: Session) throws {
    configuration.releases.reports = try ReleaseReports(to: "https://pages.example.com/reports") {
      "Bearer \(try await session.reportToken())"
    }
  }

  static func preloadingForEver(_ configuration: HostConfiguration) async throws {
    var configuration = configuration
    configuration.releases.preloadSchedule = PreloadSchedule(
      every: .seconds(3600),  // looks for a newer release, for as long as the host lives
      events: PageURL("https://pages.example.com/releases/events"))  // or as soon as the server announces one
    let host = try PageHost.launch(configuration)
    if let preload = host.preloading {
      for await update in preload.updates {
        if let pause = update.pause {
          print("missing:", pause.missing.map(\.name), "next try:", pause.until.map { "\($0)" } ?? "with the network")
        }
      }
    }
  }
}
