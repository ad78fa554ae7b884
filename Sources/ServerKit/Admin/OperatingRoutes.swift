import CoreMetrics
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// `/healthz`, `/readyz`, `/metrics`, and the admin routes.
struct OperatingRoutes: Sendable {
  let controls: ServerControls
  let metrics: HostMetrics
  let report: @Sendable () -> SettingsReport
  /// Checks the tokens of the admin; `nil` for no admin routes.
  let authenticator: AdminAuthenticator?

  func add(to routes: ListenerRoutes) {
    let tellsReasons = routes.carries(.status) && !routes.listener.asksToken
    routes.add(.health) { router in
      router.get("/healthz") { _, _ in JSONAnswer.json(["status": "alive"]) }
      router.get("/readyz") { _, _ in await readiness(withReasons: tellsReasons) }
    }
    routes.add(.metrics) { router in
      router.get("/metrics") { [tls = routes.tls] request, _ in
        await text(.init(accept: request.headers[.accept]), tls)
      }
    }
    routes.add(.admin) { AdminRoutes(controls: controls, report: report, authenticator: authenticator).add(to: $0) }
  }

  /// - Parameter withReasons: `true` to give the problems, which name folders and servers.
  private func readiness(withReasons: Bool) async -> Response {
    struct Readiness: Encodable {
      var ready: Bool
      var checks: [HealthCheck.Outcome]
    }
    var checks = await controls.checks.outcomes()
    if !withReasons { for index in checks.indices { checks[index].reason = nil } }
    let isReady = !checks.contains(where: \.isFailure)
    return JSONAnswer.json(
      Readiness(ready: isReady, checks: checks), status: isReady ? .ok : .serviceUnavailable)
  }

  private func text(_ format: PrometheusText.Format, _ tls: TLSReloader?) async -> Response {
    await controls.updateMetrics()
    let checks = await controls.checks.outcomes()
    for check in checks { metrics.check(check.name).set(check.ok ? 1 : 0) }
    metrics.ready.set(checks.contains(where: \.isFailure) ? 0 : 1)
    if let tls { metrics.certificateEnd.set(tls.validity.until.timeIntervalSince1970) }
    ProcessMetrics(metrics.registry).update()
    let text = PrometheusText(format: format).text(metrics.registry)
    return Response(
      status: .ok, headers: [.contentType: format.contentType, .vary: "Accept", .cacheControl: "no-store"],
      body: .init(byteBuffer: ByteBuffer(string: text)))
  }
}
