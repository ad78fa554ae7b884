import CCrypto
import CoreMetrics
import Foundation
import HTTPTransport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization

extension ListenerRoutes {
  /// Adds `/healthz`, `/readyz`, `/metrics`, and the admin routes.
  func addOperating(_ controls: ServerControls, report: @escaping @Sendable () -> SettingsReport) {
    let tellsReasons = carries(.status) && !listener.asksToken
    add(.health) { router in
      router.get("/healthz") { _, _ in Response.json(["status": "alive"]) }
      router.get("/readyz") { _, _ in await Self.readiness(controls.checks, withReasons: tellsReasons) }
    }
    add(.metrics) { router in
      router.get("/metrics") { [metrics, tls] request, _ in
        await Self.text(of: metrics, controls, tls, .init(accept: request.headers[.accept]))
      }
    }
    add(.admin) { addAdmin(to: $0, controls, report) }
  }

  /// - Parameter withReasons: `true` to give the problems, which name folders and servers.
  private static func readiness(_ checks: [HealthCheck], withReasons: Bool) async -> Response {
    struct Readiness: Encodable {
      var ready: Bool
      var checks: [HealthCheck.Outcome]
    }
    var outcomes = await checks.outcomes()
    if !withReasons { for index in outcomes.indices { outcomes[index].reason = nil } }
    let isReady = !outcomes.contains(where: \.isFailure)
    return .json(Readiness(ready: isReady, checks: outcomes), status: isReady ? .ok : .serviceUnavailable)
  }

  private static func text(
    of metrics: HostMetrics, _ controls: ServerControls, _ tls: TLSReloader?, _ format: MetricFormat
  ) async -> Response {
    await controls.updateMetrics()
    let checks = await controls.checks.outcomes()
    for check in checks { metrics.check(check.name).set(check.ok ? 1 : 0) }
    metrics.ready.set(checks.contains(where: \.isFailure) ? 0 : 1)
    if let tls { metrics.certificateEnd.set(tls.validity.until.timeIntervalSince1970) }
    metrics.registry.updateProcess()
    return Response(
      status: .ok, headers: [.contentType: format.contentType, .vary: "Accept", .cacheControl: "no-store"],
      body: .init(byteBuffer: ByteBuffer(string: metrics.registry.text(format))))
  }

  /// Adds the routes `/admin/…`, which require the token. If no token is set, they do not exist and the answer is 404.
  private func addAdmin(
    to router: RouterGroup<HostRequestContext>, _ controls: ServerControls,
    _ report: @escaping @Sendable () -> SettingsReport
  ) {
    guard authenticator != nil else { return }
    let admin = router.group("admin")
    admin.get("settings") { _, _ in Response.json(["settings": report().lines]) }
    admin.post("relaunch") { _, context in await Self.done(context, controls.relaunch) }
    admin.post("cache/clear") { _, context in await Self.done(context, controls.clearCache) }
    for add in controls.adminRoutes { add(admin) }
  }

  private static func done(_ context: HostRequestContext, _ act: () async throws -> Void) async -> Response {
    do {
      try await act()
      return .json(["done": true])
    } catch {
      context.requestLogger.error("An admin's request failed", metadata: ["error": "\(error.sentence)"])
      return .error(.badGateway, error.sentence)
    }
  }
}

/// Compares the tokens of requests with the admin's tokens, which may change while the host runs.
package final class AdminAuthenticator: Sendable {
  private let digests: Mutex<[SHA256Digest]>

  /// Returns `nil` without tokens, or if libcrypto has no SHA-256.
  package init?(tokens: [String]) {
    guard !tokens.isEmpty, let digests = try? tokens.map(Self.digest) else { return nil }
    self.digests = Mutex(digests)
  }

  /// Accepts other tokens from now on.
  ///
  /// - Throws: ``DigestError``; the former ones stay.
  package func replace(by tokens: [String]) throws {
    let digests = try tokens.map(Self.digest)
    self.digests.withLock { $0 = digests }
  }

  /// Returns `true` if the field has the token as a bearer token. RFC 6750 §2.1.
  func accepts(authorization: String?) -> Bool {
    Self.credentials("bearer", in: authorization).map { isToken(String($0)) } ?? false
  }

  /// Returns `true` if the field has the token as a password, with any name, so that a browser can ask for it. RFC 7617
  /// §2.
  ///
  /// A browser then sends it with every request, also with those that pages of other sites cause: it does not show
  /// which page a request comes from.
  func accepts(password authorization: String?) -> Bool {
    guard let credentials = Self.credentials("basic", in: authorization), credentials.utf8.count <= 16 << 10,
      let bytes = [UInt8](base64: String(credentials)), let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
    else { return false }
    return isToken(String(decoding: bytes[(colon + 1)...], as: UTF8.self))
  }

  /// The `WWW-Authenticate` field. RFC 6750 §3: a wrong token gets another challenge than a missing one.
  static func challenge(with authorization: String?) -> HTTPFields {
    let bearer = #"Bearer realm="renderhost""# + (authorization == nil ? "" : #", error="invalid_token""#)
    var fields = HTTPFields()
    fields[values: .wwwAuthenticate] = [bearer, #"Basic realm="renderhost", charset="UTF-8""#]
    return fields
  }

  private static func credentials(_ scheme: String, in authorization: String?) -> Substring? {
    guard let authorization, let space = authorization.firstIndex(of: " "),
      authorization[..<space].lowercased() == scheme
    else { return nil }
    return authorization[space...].drop { $0 == " " }
  }

  /// Compares digests in constant time, so that lengths are not disclosed either.
  private func isToken(_ text: String) -> Bool {
    guard let given = try? Self.digest(of: text) else { return false }
    return digests.withLock(\.self).reduce(false) { isToken, digest in
      CRYPTO_memcmp(given.bytes, digest.bytes, SHA256Digest.byteCount) == 0 || isToken
    }
  }

  private static func digest(of text: String) throws -> SHA256Digest { try SHA256Digest(of: Array(text.utf8)) }
}
