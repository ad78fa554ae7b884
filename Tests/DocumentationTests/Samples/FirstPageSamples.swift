import PageKit

/// Samples of the README and of "Getting started".
enum FirstPageSamples {
  static func aFirstPage() async throws {
    let host = try PageHost.launch(.init(manifest: "https://pages.example.com/manifest.json"))
    let page = try await host.open("https://pages.example.com/bundles/home.js")

    await page.appear()  // the user sees it: many pages load their data then
    await page.settle(within: .seconds(10))  // requests, pictures and timers that are due soon
    print(await page.tree.outline)  // one line for each element
    await page.destroy()
    await host.shutDown()  // before the process exits
  }

  static func preloading() async throws {
    let host = try PageHost(.init(manifest: "https://pages.example.com/manifest.json"))

    // Starts at once.
    let preload = host.preload()
    for await update in preload.updates {
      let totals = update.totals
      print(totals.fetched, "of", totals.toFetch, "fetched,", totals.bytesHere, "of", totals.bytesToFetch, "bytes")
    }
    let report = await preload.report()
    print(report.failures.isEmpty ? "release \(report.release ?? "") is current" : "\(report.failures)")

    // The bytes of a page: from memory, the store or the network, and always checked.
    if let home = PageURL("https://pages.example.com/bundles/home.js") {
      let bundle = try await host.bundles.load(home)
      print(bundle.source, bundle.isVerified, bundle.bytes.count)
    }
    await host.shutDown()
  }

  static func choosingAStore() {
    // An app's folders, whatever its executable is called.
    let named = HostConfiguration(store: .app("shop"))
    // A folder for everything.
    let folder = HostConfiguration(store: StoreDirectory("/var/lib/shop"))
    // The folders that `bundlectl` and `renderhost` use, shared with them and with other apps that name it.
    let shared = HostConfiguration(store: .standard())
    print([named, folder, shared].map(\.storage.directory.path))
  }

  static func logging() throws -> HostConfiguration {
    var configuration = try HostConfiguration(manifest: "https://pages.example.com/manifest.json")
    configuration.logger.logLevel = .debug  // manifests, bundles and pages
    configuration.resources.logger.logLevel = .debug  // each decision of the cache
    return configuration
  }

  static func configuring() throws -> HostConfiguration {
    var configuration = try HostConfiguration(manifest: "https://pages.example.com/manifest.json")
    configuration.storage.quotas.responses = 50 << 20
    configuration.releases.verification = .everyOpen
    configuration.network.retry.attempts = 5
    configuration.resources.behavior = .networkFirst()
    configuration.pages.opening.policy = .cacheFirst
    return configuration
  }

  static func askingForData(_ host: PageHost) async throws {
    let list = ResourceRequest("https://api.example.com/list.json", behavior: .cacheThenNetwork)
    for await update in host.resources.updates(for: list) {
      switch update {
      case .cached(let loaded), .network(let loaded), .notModified(let loaded):
        print(loaded.source, loaded.age ?? 0, try await loaded.body.collect().count)
      case .failed(let failure):
        print(failure)  // an answer that came before stays valid
      }
    }
  }

  static func handlingErrors(_ host: PageHost) async throws {
    do {
      let page = try await host.open("https://pages.example.com/bundles/home.js")
      print(await page.tree.count, "elements")
    } catch PageError.bundle(let reason) {
      switch reason {
      case BundleError.disabled(_, let message): print(message)  // the publisher's text for the user
      case BundleError.failed(_, _, TransportError.cannotConnect), BundleError.noProgress: print("the server is away")
      case SourceError.untrusted(let manifest, let error): print(manifest, "is not trusted:", error)
      case StoreError.diskFull: print("free some space")
      default: print(reason)
      }
    } catch PageError.script(let url, let error) {
      print(url, "has failed:", error)
    }
  }

  static func workingOffline(_ host: PageHost) {
    host.reachability.setting = .offline  // no requests, for bundles and for pages
    host.reachability.setting = .observed  // back to normal; a waiting preload goes on
  }
}
