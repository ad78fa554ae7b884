import Foundation

/// What operating the host needs of its other parts.
struct Operating: Sendable {
  /// What the dashboard shows, without checks and traffic.
  var status: @Sendable () async -> HostStatus
  /// What `/readyz` asks.
  var checks: [HealthCheck] = []
  /// Begins a new launch: everything is verified again. Throws what the caller is told.
  var relaunch: @Sendable () async throws -> Void = {}
  /// Empties the response cache.
  var clearCache: @Sendable () async throws -> Void = {}
  /// Purges what the gateway keeps, and returns how many responses that met; nil where there is no gateway.
  var purge: (@Sendable (PurgeOrder) async throws -> Int)?
  /// Sets gauges that are only looked at when metrics are scraped.
  var updateMetrics: @Sendable () async -> Void = {}
}
