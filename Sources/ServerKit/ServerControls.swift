import Hummingbird

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
