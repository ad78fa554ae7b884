import Foundation
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// Puts the routes behind a server that is held to its limits, and runs it with its services until it is told to stop.
struct HostServer: Sendable {
  let settings: Settings
  var sources: [SettingKey: String] = [:]
  let operating: Operating
  let metrics: HostMetrics
  /// Run beside the server; they start before it, and stop after it.
  var services: [any Service] = []
  var environment = ProcessInfo.processInfo.environment
  let logger: Logger
  /// Listens beside it; nil for none.
  var gateway: GatewayServer?
  /// Called with the address it listens on.
  var whenRunning: @Sendable (SocketAddress?) async -> Void = { _ in }

  /// A router with what every request passes, and the operating routes; the others are added to it.
  func router(history: TrafficHistory) -> Router<HostRequestContext> {
    let router = Router(context: HostRequestContext.self, options: .autoGenerateHeadEndpoints)
    // Errors become answers before they are counted and logged.
    router.add(middleware: RequestIDMiddleware())
    router.add(middleware: AccessLogMiddleware())
    router.add(middleware: RequestMetricsMiddleware(metrics))
    router.add(middleware: JSONErrorMiddleware())
    router.add(middleware: LimitsMiddleware(limits: settings.limits, metrics: metrics))
    router.add(
      middleware: SiteMiddleware(
        rules: SiteRules(hosts: Set(([settings.address] + settings.hosts).map { $0.lowercased() })),
        authenticator: settings.adminToken.flatMap { AdminAuthenticator(token: $0) }, metrics: metrics))
    router.add(middleware: PacedBodyMiddleware())
    OperatingRoutes(
      operating: operating, metrics: metrics, history: history,
      report: SettingsReport(settings, sources: sources), adminToken: settings.adminToken
    ).add(to: router)
    return router
  }

  /// Runs until the process gets SIGTERM or SIGINT; what is under way then has ``Settings/shutdownTime``.
  ///
  /// - Throws: ``ListenError``, and what its services throw.
  func run(routes: (Router<HostRequestContext>) -> Void = { _ in }) async throws {
    do { try await parts(routes: routes).group.run() } catch let error as IOError {
      throw ListenError(settings, reason: String(cString: strerror(error.errnoCode)))
    } catch let error as SocketAddressError.UnknownHost {
      throw ListenError(settings, reason: error.errorDescription)
    }
  }

  /// The server and its services, to be run, and what SIGHUP does.
  func parts(
    trapsSignals: Bool = true, routes: (Router<HostRequestContext>) -> Void = { _ in }
  ) throws -> (group: ServiceGroup, hangup: HangupService) {
    let history = TrafficHistory(metrics.registry)
    let router = router(history: history)
    routes(router)
    let notifier = ServiceNotifier(environment: environment)
    let tls = try tlsReloader()
    let readiness = ReadinessService(notifier, checks: operating.checks)
    let application = application(router, tls: tls, readiness: readiness)
    let listeners: [any Service] =
      if let gateway, let address = settings.gateway { [application, try gateway.service(address, tls: tls)] } else {
        [application]
      }
    let hangup = HangupService(
      notifier: notifier, readiness: readiness, tls: tls, relaunch: operating.relaunch, logger: logger)
    // The last is stopped first.
    let beside: [any Service] =
      [history, WatchdogService(notifier: notifier), FreedMemoryService(), readiness] + (trapsSignals ? [hangup] : [])
    var group = ServiceGroupConfiguration(
      services: (services + beside + listeners).map {
        .init(service: $0, successTerminationBehavior: .gracefullyShutdownGroup)
      },
      gracefulShutdownSignals: trapsSignals ? [.sigterm, .sigint] : [], logger: logger)
    group.maximumGracefulShutdownDuration = settings.shutdownTime
    return (ServiceGroup(configuration: group), hangup)
  }

  private func tlsReloader() throws -> TLSReloader? {
    guard let certificate = settings.certificate, let key = settings.privateKey else { return nil }
    return try TLSReloader(TLSFiles(certificate: certificate, privateKey: key))
  }

  private func application(
    _ router: Router<HostRequestContext>, tls: TLSReloader?, readiness: ReadinessService
  ) -> Application<RouterResponder<HostRequestContext>> {
    let connectionLimit = ProcessLimits.current.connections(settings)
    let connections = ConnectionRegister(limit: settings.limits.connectionsPerAddress)
    return Application(
      router: router,
      server: .guarded(settings.limits, tls: tls, connections: connections, metrics: metrics),
      configuration: .init(
        address: .hostname(settings.address, port: settings.port), backlog: 1024,
        availableConnectionsDelegate: .maximum(connectionLimit, logger: logger)),
      onServerRunning: { [whenRunning, logger, metrics] channel in
        await AcceptErrorHandler.add(to: channel, connections: connectionLimit, metrics: metrics, logger: logger)
        let address = channel.localAddress
        logger.notice("Listening", metadata: ["address": "\(address?.description ?? "-")"])
        await whenRunning(address)
        readiness.listens()
      },
      logger: logger)
  }
}
