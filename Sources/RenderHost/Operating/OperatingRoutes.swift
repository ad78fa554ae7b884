import HTTPTypes
import Hummingbird
import NIOCore

/// `/`, `/status`, `/healthz`, `/readyz`, `/metrics`, and the admin routes.
struct OperatingRoutes: Sendable {
  let operating: Operating
  let metrics: HostMetrics
  let history: TrafficHistory
  let report: SettingsReport
  /// Nil: there are no admin routes.
  let adminToken: String?

  func add(to routes: ListenerRoutes) {
    routes.add(.dashboard) { router in
      let dashboard = DashboardPage(beside: routes.listener.groups)
      router.get("/") { _, _ in dashboard.response }
    }
    let hasPages = routes.carries(.pages)
    let tellsReasons = routes.carries(.status) && !routes.listener.asksToken
    routes.add(.status) { $0.get("/status") { _, _ in JSONAnswer.json(await status(hasPages: hasPages)) } }
    routes.add(.health) { router in
      router.get("/healthz") { _, _ in JSONAnswer.json(["status": "alive"]) }
      router.get("/readyz") { _, _ in await readiness(withReasons: tellsReasons) }
    }
    routes.add(.metrics) { router in
      router.get("/metrics") { request, _ in await text(.init(accept: request.headers[.accept])) }
    }
    routes.add(.admin) { AdminRoutes(operating: operating, report: report, token: adminToken).add(to: $0) }
  }

  /// - Parameter hasPages: whether pages' previews are to be had on the same listener.
  private func status(hasPages: Bool) async -> HostStatus {
    var status = await operating.status()
    if !hasPages { for index in status.pages.indices { status.pages[index].preview = nil } }
    status.failures = Array(status.failures.prefix(HostStatus.failureLimit))
    status.checks = await operating.checks.outcomes()
    status.traffic = history.traffic
    return status
  }

  /// - Parameter withReasons: whether it is told what is wrong, which names folders and servers.
  private func readiness(withReasons: Bool) async -> Response {
    struct Readiness: Encodable {
      var ready: Bool
      var checks: [HealthCheck.Outcome]
    }
    var checks = await operating.checks.outcomes()
    if !withReasons { for index in checks.indices { checks[index].reason = nil } }
    let isReady = checks.allSatisfy(\.ok)
    return JSONAnswer.json(
      Readiness(ready: isReady, checks: checks), status: isReady ? .ok : .serviceUnavailable)
  }

  private func text(_ format: PrometheusText.Format) async -> Response {
    await operating.updateMetrics()
    ProcessMetrics(metrics.registry).update()
    let text = PrometheusText(format: format).text(metrics.registry)
    return Response(
      status: .ok, headers: [.contentType: format.contentType, .vary: "Accept", .cacheControl: "no-store"],
      body: .init(byteBuffer: ByteBuffer(string: text)))
  }
}
