import Foundation
import Hummingbird
import Logging
import NIOCore
import PageTesting
import ServiceLifecycle
import Testing

@testable import RenderHost
@testable import ServerKit

/// A host on free ports of loopback, with the routes of a test.
final class LiveHost: Sendable {
  struct NotRunning: Error {}

  let port: Int
  /// The port of the admin listener, if there is one; else ``port``.
  let adminPort: Int
  let metrics: HostMetrics
  private let group: ServiceGroup
  private let hangup: @Sendable () async -> Void
  private let end: Task<Void, any Error>

  convenience init(
    _ settings: Settings = Settings(), controls: HostControls = .fake(), metrics: HostMetrics = HostMetrics(),
    environment: [String: String] = [:], logger: Logger? = nil,
    routes: @escaping @Sendable (Router<HostRequestContext>) -> Void = { _ in }
  ) async throws {
    try await self.init(
      settings, controls: controls, metrics: metrics, environment: environment, logger: logger,
      adding: { routes($0.router) })
  }

  /// - Parameters:
  ///   - parts: adds the routes of another server in place of the status and the dashboard; `nil` for these.
  ///   - add: called for each listener.
  init(
    _ settings: Settings, controls: HostControls = .fake(), metrics: HostMetrics = HostMetrics(),
    environment: [String: String] = [:], logger: Logger? = nil, parts: (@Sendable (ListenerRoutes) -> Void)? = nil,
    adding add: (ListenerRoutes) -> Void
  ) async throws {
    var settings = settings
    settings.port = 0
    let ports = Monitor<[SettingKey: Int]>([:])
    var silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    silent.logLevel = .critical
    var server = HostServer(
      settings: settings, controls: controls, metrics: metrics, environment: environment, logger: logger ?? silent,
      whenRunning: { listener, address in ports.change { $0[listener.key] = address?.port ?? -1 } })
    if let parts { server.partRoutes = parts }
    let running = try server.parts(trapsSignals: false, adding: add)
    let count = ListenerPlan(settings.server).listeners.count
    let group = running.group
    self.group = group
    hangup = { await running.hangup.reload() }
    self.metrics = metrics
    end = Task {
      do { try await group.run() } catch {
        ports.change { $0[.listen] = -1 }
        throw error
      }
    }
    try await ports.wait(within: .seconds(60), until: { $0.count == count || $0[.listen] == -1 })
    guard let port = ports.read({ $0[.listen] }), port > 0 else { throw NotRunning() }
    self.port = port
    adminPort = ports.read { $0[.adminListen] } ?? port
  }

  /// Shuts it down, and waits for its end.
  func stop() async throws {
    await group.triggerGracefulShutdown()
    try await end.value
  }

  /// Runs the actions of SIGHUP.
  func hangUp() async { await hangup() }

  func beginStopping() async { await group.triggerGracefulShutdown() }
  func ended() async throws { try await end.value }
}

extension HostControls {
  static func fake(
    _ status: @escaping @Sendable () async -> HostStatus = { HostStatus(started: Date(timeIntervalSince1970: 0)) }
  ) -> HostControls {
    HostControls(status: status)
  }
}

extension HostServer {
  /// The routes of its listener, if one listener serves all.
  func router() throws -> Router<HostRequestContext> {
    let listener = try #require(ListenerPlan(settings).listeners.first)
    return routes(of: listener).router
  }
}
