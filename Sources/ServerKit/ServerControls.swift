import Hummingbird

/// The controls of a server, which its parts register: checks, gauges, and what its admin can have done.
struct ServerControls: Sendable {
  /// The checks of `/readyz`.
  var checks: [HealthCheck] = []
  /// Begins a new launch: everything is verified again. Throws what the caller is told.
  var relaunch: @Sendable () async throws -> Void = {}
  /// Empties the response caches.
  var clearCache: @Sendable () async throws -> Void = {}
  /// Add routes behind `/admin`; requests for them have shown the token.
  var adminRoutes: [@Sendable (RouterGroup<HostRequestContext>) -> Void] = []
  /// Sets gauges that are only looked at when metrics are scraped.
  var updateMetrics: @Sendable () async -> Void = {}
}
