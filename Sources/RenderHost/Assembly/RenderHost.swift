import Blobs
import CacheGateway
import CoreMetrics
import Fleet
import Foundation
import HTTPCache
import HTTPTransport
import Hummingbird
import Logging
import NIOCore
import PageKit
import PageWorkers
import ServerKit
import ServiceLifecycle

/// The daemon, which serves bundles and runs pages: its parts, wired together.
struct RenderHostParts: Sendable {
  let record = HostRecord(
    metrics: HostMetrics(
      MetricRegistry(
        HostMetrics.descriptions, HostMetrics.pageDescriptions, HostMetrics.gatewayDescriptions,
        HostMetrics.fleetDescriptions)))
  /// The parts for bundles and pages; `nil` without bundles.
  let pages: PageParts?
  let gateway: GatewayServer?
  /// The fleet that the host belongs to; `nil` for a host of its own.
  let fleet: FleetMember?
  private let settings: Settings
  private let logger: Logger
  private let started = Date()
  /// Read at the start: it belongs to the task that starts the host.
  private let commit = HostVersion.commit
  private let ownership: StoreOwnership

  /// - Throws: the errors of the settings and of opening files.
  init(_ settings: Settings, executable: String = "/proc/self/exe", logger: Logger) throws {
    (self.settings, self.logger) = (settings, logger)
    fleet = try FleetMember(settings, logger: logger)
    pages = try PageParts(
      settings, record: record, executable: executable, fleet: fleet, logger: logger)
    guard settings.gateway.address != nil, !settings.gateway.origins.isEmpty else {
      gateway = nil
      ownership = Self.ownership(of: settings, logger)
      return
    }
    let gateway = try Gateway(
      settings.gateway.origins, store: settings.store, isSecure: settings.certificate != nil, record: record,
      logger: logger, proxies: settings.proxies,
      storedUse: { [fleet] in fleet?.storedUse(at: $0) ?? .unlimited })
    self.gateway = GatewayServer(gateway: gateway, settings: settings.server, metrics: record.metrics, logger: logger)
    ownership = Self.ownership(of: settings, logger)
  }

  /// Takes the store, which is there by now.
  private static func ownership(of settings: Settings, _ logger: Logger) -> StoreOwnership {
    let ownership = StoreOwnership(settings.store)
    if let problem = ownership.problem { logger.warning("\(problem) with --store") }
    return ownership
  }

  /// The services to run with the server.
  var services: [any Service] { (pages?.services ?? []) + [fleetService].compactMap(\.self) }

  private var fleetService: BackgroundService? {
    fleet?.service(
      FleetHost(
        gateway: gateway?.gateway, purge: purge, serving: pages?.serving,
        hits: { [report = gatewayReport] in report?.hitRatio }, logger: logger))
  }

  private var gatewayReport: GatewayReport? {
    gateway.map { GatewayReport(gateway: $0.gateway, metrics: record.metrics) }
  }

  /// Purges the gateway of this host, and in a fleet those of all; `nil` if there is no gateway.
  private var purgeForAll: (@Sendable (PurgeOrder) async throws -> PurgeAnswer)? {
    guard let purge else { return nil }
    guard let fleet else { return { PurgeAnswer(purged: try await purge($0)) } }
    return { try await fleet.purge($0, purge) }
  }

  private var purge: GatewayPurge? {
    gateway.map { GatewayPurge(of: $0.gateway, metrics: record.metrics) }
  }

  /// Runs until the process is told to stop.
  ///
  /// - Parameters:
  ///   - sources: the flag, the variable or the file that gave each setting.
  ///   - reread: reads all settings again, at SIGHUP; `nil` for a host whose settings are read once.
  func run(
    sources: [SettingKey: String] = [:], reread: (@Sendable () throws -> SettingsReader.Merged)? = nil
  ) async throws {
    let live = reread.map { LiveSettings(settings, sources: sources, gateway: gateway?.gateway, read: $0) }
    try await HostServer(
      settings: settings, sources: sources, live: live, controls: controls, metrics: record.metrics,
      services: services, logger: logger, gateway: gateway,
      whenRunning: { [locations = pages?.locations] listener, address in
        if listener.isPublic, let port = address?.port { locations?.listens(on: port) }
      }
    ).run(adding: add(to:))
  }

  func add(to routes: ListenerRoutes) { pages?.add(to: routes) }

  var controls: HostControls {
    let (pages, gateway) = (pages, gateway?.gateway)
    let gatewayReport = gatewayReport
    let writing = StoreWriteCheck(settings.store)
    let ownership = ownership
    let warning: @Sendable () async -> String? = { await writing.problem() ?? ownership.problem }
    let server = ServerControls(
      checks: pages?.checks(ofStore: warning) ?? [HealthCheck(name: "store", warning: warning)],
      relaunch: { try await pages?.serving.relaunch() },
      clearCache: {
        try await pages?.host.responses.removeAll()
        try await gateway?.clear()
      },
      updateMetrics: { [fleet, record, commit, store = settings.store] in
        record.metrics.build(version: HostVersion.current, commit: commit).set(1)
        if let free = try? store.availableBytes() { record.metrics.storeFree.set(Double(free)) }
        if let fleet { record.metrics.update(fleet.status) }
        await pages?.update(record.metrics)
        await gatewayReport?.updateMetrics()
      })
    return HostControls(
      server: server,
      status: { [started, record, fleet] in
        var status = HostStatus(started: started)
        status.servesBundles = pages != nil
        await pages?.fill(&status)
        status.origins = gatewayReport?.origins
        status.fleet = fleet?.status
        status.failures = record.failures.latest
        return status
      },
      setHalted: pages?.serving.setHalted,
      purge: purgeForAll)
  }
}

extension HostServer {
  /// The daemon's server, with its dashboard, its status, its purge and its gateway.
  ///
  /// - Parameters:
  ///   - sources: the flag, the variable or the file that gave each setting.
  ///   - live: the settings that change while the host runs; `nil` if none do.
  ///   - gateway: the gateway that runs beside the server; `nil` for none.
  init(
    settings: Settings, sources: [SettingKey: String] = [:], live: LiveSettings? = nil, controls: HostControls,
    metrics: HostMetrics,
    services: [any Service] = [], environment: [String: String] = ProcessInfo.processInfo.environment, logger: Logger,
    gateway: GatewayServer? = nil,
    whenRunning: @escaping @Sendable (ListenerPlan.Listener, SocketAddress?) async -> Void = { _, _ in }
  ) {
    var server = controls.server
    server.adminRoutes.append { [purge = controls.purge] in GatewayPurge.addRoute(to: $0, purge: purge) }
    server.adminRoutes.append { [setHalted = controls.setHalted] in
      ReleaseHalts.addRoutes(to: $0, setHalted: setHalted)
    }
    let history = TrafficHistory(metrics.registry)
    let report = SettingsReport(settings, sources: sources)
    self.init(
      settings: settings.server, report: { live?.report ?? report }, controls: server,
      metrics: metrics, services: services + [history], environment: environment, logger: logger,
      partRoutes: { [status = controls.status, checks = server.checks, draws = settings.pictures] in
        $0.addStatus(draws: draws, status, checks: checks, history: history)
      },
      otherListeners: { [address = settings.gateway.address] tls in
        guard let gateway, let address else { return [] }
        return [try gateway.service(address, tls: tls)]
      }, whenRunning: whenRunning)
    if let live { reconfigure = { try live.reconfigure($0, $1) } }
  }
}

/// The controls of the daemon: those of its server, its status, and the gateway's purge.
struct HostControls: Sendable {
  var server = ServerControls()
  /// The status that the dashboard shows, without checks and traffic.
  var status: @Sendable () async -> HostStatus
  /// Halts the release that is served, or lifts the halt, and returns the release's name; `nil` without bundles.
  var setHalted: (@Sendable (Bool) async throws -> String)?
  /// Purges responses that the gateway stores; `nil` if there is no gateway.
  var purge: (@Sendable (PurgeOrder) async throws -> PurgeAnswer)?
}
