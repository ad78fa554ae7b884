import CCrypto
import Foundation
import HTTPTransport
import HTTPTypes
import Hummingbird
import NIOCore
import ServerKit

extension ListenerRoutes {
  /// Adds `/`, the dashboard, and `/status`, which it shows.
  ///
  /// - Parameters:
  ///   - draws: `true` if the host draws pages.
  ///   - status: returns the daemon's status, without checks and traffic.
  func addStatus(
    draws: Bool, _ status: @escaping @Sendable () async -> HostStatus, checks: [HealthCheck], history: TrafficHistory
  ) {
    // Previews and pictures of pages are shown if the same listener serves them.
    let (hasPages, tls) = (carries(.pages), tls)
    add(.dashboard) { router in
      let dashboard = DashboardPage(beside: listener.groups, hasPictures: draws && hasPages)
      router.get("/") { _, _ in dashboard.response }
    }
    add(.status) { router in
      router.get("/status") { _, _ in
        var status = await status()
        if !hasPages {
          for index in status.pages.indices {
            (status.pages[index].preview, status.pages[index].picture, status.pages[index].live) = (nil, nil, nil)
          }
        }
        status.failures = Array(status.failures.prefix(HostStatus.failureLimit))
        status.checks = await checks.outcomes()
        status.traffic = history.traffic
        status.certificate = tls?.validity
        status.certificate?.problem = tls?.validity.problem(at: Date())
        return Response.json(status)
      }
    }
  }
}

/// The dashboard: one HTML page that contains its style and its script, and loads nothing from elsewhere.
struct DashboardPage: Sendable {
  let html: String
  /// The content security policy: only this style and this script run, and frames and pictures show only pages of this
  /// host.
  let policy: String

  /// - Parameters:
  ///   - groups: the other route groups of the same listener.
  ///   - hasPictures: `true` if pages are shown as pictures.
  init(beside groups: Set<RouteGroup> = Set(RouteGroup.allCases), hasPictures: Bool = false) {
    let style = String(decoding: PackageResources.dashboard_css, as: UTF8.self)
    let script = String(decoding: PackageResources.dashboard_js, as: UTF8.self)
    html = String(decoding: PackageResources.dashboard_html, as: UTF8.self)
      .replacing("/*style*/", with: style).replacing("/*script*/", with: script)
      .replacing("<!--links-->", with: Self.links(groups))
    policy = [
      "default-src 'none'", "script-src \(Self.source(script))", "style-src \(Self.source(style))",
      "connect-src 'self'", "frame-src 'self'", "img-src \(hasPictures ? "'self' " : "")data:", "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].joined(separator: "; ")
  }

  var response: Response {
    Response(
      status: .ok,
      headers: [
        .contentType: "text/html; charset=utf-8", .cacheControl: "no-cache", .contentSecurityPolicy: policy,
        .xContentTypeOptions: "nosniff", .referrerPolicy: "no-referrer",
      ], body: .init(byteBuffer: ByteBuffer(string: html)))
  }

  private static func links(_ groups: Set<RouteGroup>) -> String {
    [(RouteGroup.health, "readyz"), (.metrics, "metrics"), (.status, "status")].filter { groups.contains($0.0) }
      .map { #"<a href="/\#($0.1)">\#($0.1)</a>"# }.joined()
  }

  /// CSP Level 3 §8.3: the digest of the text between the tags.
  private static func source(_ text: String) -> String {
    guard let digest = try? SHA256Digest(of: Array(text.utf8)) else { return "'none'" }
    return "'sha256-\(Data(digest.bytes).base64EncodedString())'"
  }
}

extension HTTPField.Name {
  static let referrerPolicy = HTTPField.Name("Referrer-Policy") ?? .from
}
