import PageKit
import PageTesting
import TestServers
import Testing

@testable import RenderHost

/// A host that listens to a daemon's release events.
struct ReleaseListeningTests {
  @Test("a listening host stores a daemon's new release without polling")
  func newRelease() async throws {
    let folder = try TemporaryDirectory()
    let file = folder.file("bundles/home.js")
    try DaemonTests.write(DaemonTests.bundle("first"), to: file)
    try await Daemon.running(folder.file("bundles"), folder) { daemon in
      var configuration = try HostConfiguration(
        manifest: "\(daemon.origin)/manifest.json", store: StoreDirectory(folder.file("store")))
      configuration.releases.preloadSchedule.events = PageURL("\(daemon.origin)/releases/events")
      let host = try PageHost.launch(configuration)
      func stored() async throws -> [String] {
        guard let manifest = host.configuration.manifest, let current = try await host.store.source(manifest)?.current
        else { return [] }
        let blobs = try await host.store.contents(of: current).compactMap(\.blob)
        var texts: [String] = []
        for blob in blobs { texts.append(String(decoding: try await host.store.bytes(of: blob).bytes, as: UTF8.self)) }
        return texts
      }
      try await eventually("the first release") { try await stored() == [DaemonTests.bundle("first")] }
      try DaemonTests.write(DaemonTests.bundle("second"), to: file)
      try await eventually("the second release") { try await stored() == [DaemonTests.bundle("second")] }
      host.preloading?.cancel()
      _ = await host.preloading?.report()
    }
  }
}
