import Foundation
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// Runs the servers of all listeners with their routes, limits and services until the process is told to stop.
package struct HostServer: Sendable {
  package let settings: ServerSettings
  /// The report of all settings, for the admin.
  package let report: @Sendable () -> SettingsReport
  /// Checks the admin's tokens; `nil` without one.
  package let authenticator: AdminAuthenticator?
  package let controls: ServerControls
  package let metrics: HostMetrics
  /// The services that start before the servers and stop after them.
  package var services: [any Service] = []
  package var environment = ProcessInfo.processInfo.environment
  package let logger: Logger
  /// Adds the routes of the groups that a listener serves.
  package var partRoutes: @Sendable (ListenerRoutes) -> Void = { _ in }
  /// Makes listeners of other kinds, which run beside the servers.
  package var otherListeners: @Sendable (TLSReloader?) throws -> [any Service] = { _ in [] }
  /// Reads the settings again, and changes what can be changed while the host runs, all of it or nothing. Returns the
  /// changes, each in words; `nil` for a host whose settings are read once.
  package var reconfigure: (@Sendable (AdminAuthenticator?, TLSReloader?) async throws -> [String])?
  /// Called with each address that the host listens on.
  package var whenRunning: @Sendable (ListenerPlan.Listener, SocketAddress?) async -> Void = { _, _ in }

  package init(
    settings: ServerSettings, report: @escaping @Sendable () -> SettingsReport, controls: ServerControls,
    metrics: HostMetrics,
    services: [any Service] = [], environment: [String: String] = ProcessInfo.processInfo.environment, logger: Logger,
    partRoutes: @escaping @Sendable (ListenerRoutes) -> Void = { _ in },
    otherListeners: @escaping @Sendable (TLSReloader?) throws -> [any Service] = { _ in [] },
    whenRunning: @escaping @Sendable (ListenerPlan.Listener, SocketAddress?) async -> Void = { _, _ in }
  ) {
    self.settings = settings
    self.report = report
    authenticator = AdminAuthenticator(tokens: settings.adminTokens)
    self.controls = controls
    self.metrics = metrics
    self.services = services
    self.environment = environment
    self.logger = logger
    self.partRoutes = partRoutes
    self.otherListeners = otherListeners
    self.whenRunning = whenRunning
  }

  /// Returns the middleware and the routes of a listener; further routes can be added.
  ///
  /// - Parameter tls: the certificate of the listeners with TLS; `nil` if there is none.
  package func routes(of listener: ListenerPlan.Listener, tls: TLSReloader? = nil) -> ListenerRoutes {
    let router = Router(context: HostRequestContext.self, options: .autoGenerateHeadEndpoints)
    router.add(middleware: HostMiddleware(settings, metrics: metrics))
    let routes = ListenerRoutes(
      router: router, listener: listener, rules: SiteRules(hosts: [listener.host] + settings.hosts),
      authenticator: authenticator, metrics: metrics, tls: tls)
    routes.addOperating(controls, report: report)
    partRoutes(routes)
    return routes
  }

  /// Runs until the process gets SIGTERM or SIGINT. Requests under way then have ``ServerSettings/shutdownTime`` to
  /// end.
  ///
  /// - Parameter add: adds routes to those of each listener.
  /// - Throws: ``SettingsError``, also for an address that it cannot listen on, and the errors of its services.
  package func run(adding add: (ListenerRoutes) -> Void = { _ in }) async throws {
    try await parts(adding: add).group.run()
  }

  /// Returns the servers and their services, and the actions of SIGHUP.
  package func parts(
    trapsSignals: Bool = true, adding add: (ListenerRoutes) -> Void = { _ in }
  ) throws -> (group: ServiceGroup, hangup: HangupService) {
    let plan = ListenerPlan(settings)
    if let refusal = plan.refusal { throw SettingsError.combination(refusal) }
    let notifier = ServiceNotifier(environment: environment)
    let tls = try tlsReloader()
    let readiness = ReadinessService(notifier, checks: controls.checks, listeners: plan.listeners.count)
    var listeners: [any Service] = plan.listeners.map { listener in
      let routes = routes(of: listener, tls: tls)
      add(routes)
      return server(of: listener, routes.router, tls: listener.isSecure ? tls : nil, readiness: readiness)
    }
    listeners += try otherListeners(tls)
    let hangup = HangupService(
      notifier: notifier, readiness: readiness, tls: tls,
      reconfigure: reread(tls),
      relaunch: controls.relaunch, logger: logger)
    // The last one is stopped first.
    let beside: [any Service] =
      [notifier.watchdogService, BackgroundService.freedMemory, readiness] + (trapsSignals ? [hangup] : [])
    var group = ServiceGroupConfiguration(
      services: (services + beside + listeners).map {
        .init(service: $0, successTerminationBehavior: .gracefullyShutdownGroup, serviceName: Self.name(of: $0))
      },
      gracefulShutdownSignals: trapsSignals ? [.sigterm, .sigint] : [], logger: logger)
    group.maximumGracefulShutdownDuration = settings.shutdownTime
    return (ServiceGroup(configuration: group), hangup)
  }

  /// The name of a service in logs.
  static func name(of service: any Service) -> String {
    (service as? BackgroundService)?.name ?? "\(type(of: service))"
  }

  /// Reads the settings again for SIGHUP; `nil` for a host whose settings are read once.
  private func reread(_ tls: TLSReloader?) -> (@Sendable () async throws -> [String])? {
    guard let reconfigure else { return nil }
    return { [authenticator] in try await reconfigure(authenticator, tls) }
  }

  private func tlsReloader() throws -> TLSReloader? {
    guard let certificate = settings.certificate, let key = settings.privateKey else { return nil }
    return try TLSReloader(TLSFiles(certificate: certificate, privateKey: key))
  }

  /// Makes the server of a listener. Each listener counts its own connections, so that a full one leaves the other
  /// free.
  private func server(
    of listener: ListenerPlan.Listener, _ router: Router<HostRequestContext>, tls: TLSReloader?,
    readiness: ReadinessService
  ) -> BackgroundService {
    let connectionLimit = ProcessLimits.current.connections(settings)
    let connections = ConnectionRegister(limit: settings.limits.connectionsPerAddress)
    let application = Application(
      router: router,
      server: .guarded(
        settings.limits, tls: tls, connections: connections, metrics: metrics, proxies: settings.proxies,
        readsProxyHeader: settings.readsProxyHeader(listener.key)),
      configuration: .init(
        address: .hostname(listener.host, port: listener.port), backlog: AcceptErrorHandler.backlog,
        availableConnectionsDelegate: .maximum(connectionLimit, logger: logger)),
      onServerRunning: { [whenRunning, logger, metrics] channel in
        await AcceptErrorHandler.add(to: channel, connections: connectionLimit, metrics: metrics, logger: logger)
        let address = channel.localAddress
        logger.notice(
          listener.isPublic ? "Listening" : "The admin listener is up",
          metadata: [
            "address": "\(address?.hostAndPort ?? "-")", "protocol": tls == nil ? "http" : "https",
          ])
        await whenRunning(listener, address)
        readiness.listens()
      },
      logger: logger)
    return .listening(application, flag: listener.key.flag, address: (listener.host, listener.port))
  }
}

/// The controls of a server, which its parts register: checks, gauges, and the actions of the admin.
package struct ServerControls: Sendable {
  /// The checks of `/readyz`.
  package var checks: [HealthCheck] = []
  /// Starts a new launch, which verifies everything again. Throws the error that the caller is shown.
  package var relaunch: @Sendable () async throws -> Void = {}
  /// Empties the response caches.
  package var clearCache: @Sendable () async throws -> Void = {}
  /// Add routes behind `/admin`; their requests have been authenticated.
  package var adminRoutes: [@Sendable (RouterGroup<HostRequestContext>) -> Void] = []
  /// Sets the gauges that are read only when metrics are scraped.
  package var updateMetrics: @Sendable () async -> Void = {}

  package init(
    checks: [HealthCheck] = [], relaunch: @escaping @Sendable () async throws -> Void = {},
    clearCache: @escaping @Sendable () async throws -> Void = {},
    adminRoutes: [@Sendable (RouterGroup<HostRequestContext>) -> Void] = [],
    updateMetrics: @escaping @Sendable () async -> Void = {}
  ) {
    self.checks = checks
    self.relaunch = relaunch
    self.clearCache = clearCache
    self.adminRoutes = adminRoutes
    self.updateMetrics = updateMetrics
  }
}

extension SocketAddress {
  /// The address as settings have it, such as `127.0.0.1:8080` or `[::1]:8080`.
  package var hostAndPort: String {
    guard let ipAddress, let port else { return description }
    return "\(SettingText.bracketed(ipAddress)):\(port)"
  }

  /// `true` if only this machine can reach the address.
  package var isLoopback: Bool {
    ipAddress.flatMap { HostAddress(host: $0) }.map { AddressKind($0) == .loopback } ?? false
  }
}

/// A service that runs a body.
package struct BackgroundService: Service {
  /// The name in logs.
  let name: String
  private let body: @Sendable () async throws -> Void

  package init(_ name: String, _ body: @escaping @Sendable () async throws -> Void) {
    (self.name, self.body) = (name, body)
  }

  package func run() async throws { try await body() }

  /// Runs a server whose errors name the address that it cannot listen on: ``SettingsError``.
  ///
  /// - Parameter flag: the setting that contains the address.
  package static func listening(
    _ server: any Service, flag: String, address: (host: String, port: Int)
  ) -> BackgroundService {
    @Sendable func failure(_ reason: String) -> SettingsError {
      .combination(
        "\(flag): cannot listen on \(SettingText.bracketed(address.host)):\(address.port): \(reason)")
    }
    return BackgroundService("listener of \(flag)") {
      do { try await server.run() } catch let error as IOError {
        throw failure(String(cString: strerror(error.errnoCode)))
      } catch let error as SocketAddressError.UnknownHost {
        throw failure(error.errorDescription)
      }
    }
  }
}
