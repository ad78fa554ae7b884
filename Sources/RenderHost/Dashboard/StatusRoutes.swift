import Foundation
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
    let tls = routes.tls
    routes.add(.status) { router in
      router.get("/status") { _, _ in
        var status = await status(hasPages: hasPages)
        status.certificate = tls.map { HostStatus.Certificate($0.validity, at: Date()) }
        return JSONAnswer.json(status)
      }
    }
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
