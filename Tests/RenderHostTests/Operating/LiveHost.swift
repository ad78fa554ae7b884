import Foundation
import Hummingbird
import Logging
import NIOCore
import PageTesting
import ServiceLifecycle

@testable import RenderHost

/// A host on a free port of loopback, with routes of a test's own.
final class LiveHost: Sendable {
  struct NotRunning: Error {}

  let port: Int
  let metrics: HostMetrics
  private let group: ServiceGroup
  private let hangup: @Sendable () async -> Void
  private let end: Task<Void, any Error>

  init(
    _ settings: Settings = Settings(), operating: Operating = .fake(), metrics: HostMetrics = HostMetrics(),
    environment: [String: String] = [:], logger: Logger? = nil,
    routes: @escaping @Sendable (Router<HostRequestContext>) -> Void = { _ in }
  ) async throws {
    var settings = settings
    settings.port = 0
    let port = Monitor<Int?>(nil)
    var silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    silent.logLevel = .critical
    let server = HostServer(
      settings: settings, operating: operating, metrics: metrics, environment: environment, logger: logger ?? silent,
      whenRunning: { address in port.change { $0 = address?.port } })
    let parts = try server.parts(trapsSignals: false, routes: routes)
    let group = parts.group
    self.group = group
    hangup = { await parts.hangup.reload() }
    self.metrics = metrics
    end = Task {
      do { try await group.run() } catch {
        port.change { $0 = -1 }
        throw error
      }
    }
    try await port.wait(within: .seconds(20), until: { $0 != nil })
    guard let bound = port.read({ $0 }), bound > 0 else { throw NotRunning() }
    self.port = bound
  }

  /// Lets it finish what is under way, and waits for its end.
  func stop() async throws {
    await group.triggerGracefulShutdown()
    try await end.value
  }

  /// What SIGHUP does.
  func hangUp() async { await hangup() }

  func beginStopping() async { await group.triggerGracefulShutdown() }
  func ended() async throws { try await end.value }
}

extension Operating {
  static func fake(
    _ status: @escaping @Sendable () async -> HostStatus = { HostStatus(started: Date(timeIntervalSince1970: 0)) }
  ) -> Operating {
    Operating(status: status)
  }
}
