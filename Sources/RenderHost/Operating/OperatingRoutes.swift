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

  func add(to router: Router<HostRequestContext>) {
    let dashboard = DashboardPage()
    router.get("/") { _, _ in dashboard.response }
    router.get("/status") { _, _ in JSONAnswer.json(await status()) }
    router.get("/healthz") { _, _ in JSONAnswer.json(["status": "alive"]) }
    router.get("/readyz") { _, _ in await readiness() }
    router.get("/metrics") { request, _ in await text(.init(accept: request.headers[.accept])) }
    AdminRoutes(operating: operating, report: report, token: adminToken).add(to: router)
  }

  private func status() async -> HostStatus {
    var status = await operating.status()
    status.failures = Array(status.failures.prefix(HostStatus.failureLimit))
    status.checks = await operating.checks.outcomes()
    status.traffic = history.traffic
    return status
  }

  private func readiness() async -> Response {
    struct Readiness: Encodable {
      var ready: Bool
      var checks: [HealthCheck.Outcome]
    }
    let checks = await operating.checks.outcomes()
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
