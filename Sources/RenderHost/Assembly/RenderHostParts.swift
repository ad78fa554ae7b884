import CoreMetrics
import Foundation
import Hummingbird
import Logging
import PageKit
import ServiceLifecycle

/// The daemon's parts, wired together.
struct RenderHostParts: Sendable {
  let record = HostRecord()
  let host: PageHost
  let access: AccessGuard
  let serving: Serving
  let locations: PublicLocations
  let running: PageRunning
  let gateway: GatewayServer?
  private let settings: Settings
  private let started = Date()

  /// - Throws: what is wrong with the settings, or cannot be opened.
  init(_ settings: Settings, executable: String = "/proc/self/exe", logger: Logger) throws {
    self.settings = settings
    let folders = settings.bundles.map { [URL(fileURLWithPath: $0).resolvingSymlinksInPath().path] } ?? []
    access = AccessGuard(
      try AccessPolicy(allowed: settings.allowedOrigins, manifest: settings.manifest, folders: folders),
      record: record)
    var configuration = HostConfiguration(manifest: try Serving.source(settings), store: settings.store)
    configuration.releaseGrace = ReleaseFeed.grace
    configuration.logger = logger
    configuration.resources.localFolder = folders.first
    configuration.cookies = NoCookies()
    host = try PageHost(configuration, transport: try access.transport())
    serving = try Serving(settings, host: host, record: record, logger: logger)
    locations = PublicLocations(feed: serving.feed, settings: settings)
    running = PageRunning(
      host: host, access: access, settings: settings, frameworks: try FrameworkFiles.read(settings),
      executable: executable, locations: locations,
      record: record, logger: logger)
    gateway = try Gateway(settings, record: record, logger: logger).map { [record] in
      GatewayServer(gateway: $0, settings: settings, metrics: record.metrics, logger: logger)
    }
  }

  /// To be run for as long as the server.
  var services: [any Service] {
    serving.services + [NamedOrigins(access: access, feed: serving.feed), running]
  }

  func add(to router: Router<HostRequestContext>) {
    serving.add(to: router)
    PageRoutes(directory: running.directory, bodyLimit: settings.limits.body).add(to: router)
    ResourceRoutes(directory: running.directory).add(to: router)
  }

  var operating: Operating {
    let (serving, running, host, record) = (serving, running, host, record)
    let report = StatusReport(
      source: settings.bundles ?? settings.manifest?.text ?? "", started: started, memoryLimit: settings.workerMemory,
      serving: serving, running: running, record: record)
    return Operating(
      status: { await report.status() },
      checks: [
        HealthCheck(name: "store") {
          do {
            _ = try await host.store.source(host.configuration.manifest)
            return nil
          } catch {
            return "\(error)"
          }
        },
        HealthCheck(name: "release") {
          let readiness = serving.feed.readiness
          return readiness.isReady ? nil : readiness.problem ?? "no release is served yet"
        },
        HealthCheck(name: "workers") {
          let status = await running.workers.status()
          return status.ready > 0 ? nil : "none of \(status.wanted) workers is ready"
        },
      ],
      relaunch: serving.relaunch,
      clearCache: { try await host.responses.removeAll() },
      updateMetrics: { await report.updateMetrics() })
  }
}
