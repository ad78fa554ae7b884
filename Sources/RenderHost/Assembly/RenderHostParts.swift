import CacheGateway
import Foundation
import HTTPTransport
import Hummingbird
import Logging
import PageKit
import PageWorkers
import ServerKit
import ServiceLifecycle

/// The daemon's parts, wired together.
struct RenderHostParts: Sendable {
  let record = HostRecord(
    metrics: HostMetrics(
      MetricRegistry(HostMetrics.descriptions, HostMetrics.pageDescriptions, HostMetrics.gatewayDescriptions)))
  /// The parts for bundles and pages; `nil` without bundles.
  let pages: PageParts?
  let gateway: GatewayServer?
  private let settings: Settings
  private let started = Date()

  /// - Throws: the errors of the settings and of opening files.
  init(_ settings: Settings, executable: String = "/proc/self/exe", logger: Logger) throws {
    self.settings = settings
    pages = try PageParts(settings, record: record, executable: executable, logger: logger)
    guard settings.gateway.address != nil, !settings.gateway.origins.isEmpty else {
      gateway = nil
      return
    }
    let gateway = try Gateway(
      settings.gateway.origins, store: settings.store, isSecure: settings.certificate != nil, record: record,
      logger: logger)
    self.gateway = GatewayServer(gateway: gateway, settings: settings.server, metrics: record.metrics, logger: logger)
  }

  /// The services to run with the server.
  var services: [any Service] { pages?.services ?? [] }

  func add(to routes: ListenerRoutes) { pages?.add(to: routes) }

  var controls: HostControls {
    let (pages, gateway) = (pages, gateway?.gateway)
    let pageReport = pages.map {
      PageReport(
        source: settings.bundles ?? settings.manifest?.text ?? "", memoryLimit: settings.workerMemory, parts: $0,
        metrics: record.metrics)
    }
    let gatewayReport = gateway.map { GatewayReport(gateway: $0, metrics: record.metrics) }
    let server = ServerControls(
      checks: pages?.checks ?? [],
      relaunch: { try await pages?.serving.relaunch() },
      clearCache: {
        try await pages?.host.responses.removeAll()
        try await gateway?.clear()
      },
      updateMetrics: {
        await pageReport?.updateMetrics()
        await gatewayReport?.updateMetrics()
      })
    return HostControls(
      server: server,
      status: { [started, record] in
        var status = HostStatus(started: started)
        status.servesBundles = pageReport != nil
        await pageReport?.fill(&status)
        status.origins = gatewayReport?.origins
        status.failures = record.failures.latest
        return status
      },
      setHalted: pages?.serving.setHalted,
      purge: gateway.map { GatewayPurge(origins: $0.origins, metrics: record.metrics).callAsFunction })
  }
}
