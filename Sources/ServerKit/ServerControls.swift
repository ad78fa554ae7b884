import Hummingbird

/// The controls of a server, which its parts register: checks, gauges, and what its admin can have done.
package struct ServerControls: Sendable {
  /// The checks of `/readyz`.
  package var checks: [HealthCheck] = []
  /// Begins a new launch: everything is verified again. Throws what the caller is told.
  package var relaunch: @Sendable () async throws -> Void = {}
  /// Empties the response caches.
  package var clearCache: @Sendable () async throws -> Void = {}
  /// Add routes behind `/admin`; requests for them have shown the token.
  package var adminRoutes: [@Sendable (RouterGroup<HostRequestContext>) -> Void] = []
  /// Sets gauges that are only looked at when metrics are scraped.
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
