import CacheGateway
import Foundation
import Logging
import NIOCore
import ServerKit
import ServiceLifecycle

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
    server.adminRoutes.append { [purge = controls.purge] in PurgeRoute(purge: purge).add(to: $0) }
    server.adminRoutes.append { [setHalted = controls.setHalted] in HaltRoutes(setHalted: setHalted).add(to: $0) }
    let history = TrafficHistory(metrics.registry)
    let status = StatusRoutes(status: controls.status, checks: server.checks, history: history)
    let report = SettingsReport(settings, sources: sources)
    self.init(
      settings: settings.server, report: { live?.report ?? report }, controls: server,
      metrics: metrics, services: services + [history], environment: environment, logger: logger,
      partRoutes: status.add(to:),
      otherListeners: { [address = settings.gateway.address] tls in
        guard let gateway, let address else { return [] }
        return [try gateway.service(address, tls: tls)]
      }, whenRunning: whenRunning)
    if let live { reconfigure = { try live.reconfigure($0, $1) } }
  }
}
