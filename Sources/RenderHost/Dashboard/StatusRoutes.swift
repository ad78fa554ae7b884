import Hummingbird
import ServerKit

/// `/`, the dashboard, and `/status`, which it shows.
struct StatusRoutes: Sendable {
  /// The daemon's status, without checks and traffic.
  let status: @Sendable () async -> HostStatus
  let checks: [HealthCheck]
  let history: TrafficHistory

  func add(to routes: ListenerRoutes) {
    routes.add(.dashboard) { router in
      let dashboard = DashboardPage(beside: routes.listener.groups)
      router.get("/") { _, _ in dashboard.response }
    }
    let hasPages = routes.carries(.pages)
    routes.add(.status) { $0.get("/status") { _, _ in JSONAnswer.json(await status(hasPages: hasPages)) } }
  }

  /// - Parameter hasPages: `true` if the same listener serves the previews of pages.
  private func status(hasPages: Bool) async -> HostStatus {
    var status = await status()
    if !hasPages { for index in status.pages.indices { status.pages[index].preview = nil } }
    status.failures = Array(status.failures.prefix(HostStatus.failureLimit))
    status.checks = await checks.outcomes()
    status.traffic = history.traffic
    return status
  }
}
