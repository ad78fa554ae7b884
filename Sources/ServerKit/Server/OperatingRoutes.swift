import CCrypto
import CoreMetrics
import Foundation
import HTTPTransport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization

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
    routes.add(.admin) { addAdmin(to: $0) }
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
    metrics.registry.updateProcess()
    let text = PrometheusText(format: format).text(metrics.registry)
    return Response(
      status: .ok, headers: [.contentType: format.contentType, .vary: "Accept", .cacheControl: "no-store"],
      body: .init(byteBuffer: ByteBuffer(string: text)))
  }
}

extension OperatingRoutes {
  /// Adds the routes `/admin/…`, which require the token. If no token is set, they do not exist and the answer is 404.
  private func addAdmin(to router: some RouterMethods<HostRequestContext>) {
    guard let authenticator else { return }
    let admin = router.group("admin").add(middleware: AdminMiddleware(authenticator: authenticator))
    admin.get("settings") { _, _ in JSONAnswer.json(["settings": report().lines]) }
    admin.post("relaunch") { _, context in
      await done(context) { try await controls.relaunch() }
    }
    admin.post("cache/clear") { _, context in
      await done(context) { try await controls.clearCache() }
    }
    for add in controls.adminRoutes { add(admin) }
  }

  private func done(_ context: HostRequestContext, _ act: () async throws -> Void) async -> Response {
    do {
      try await act()
      return JSONAnswer.json(["done": true])
    } catch {
      context.requestLogger.error("An admin's request failed", metadata: ["error": "\(error.sentence)"])
      return JSONAnswer.error(.badGateway, error.sentence)
    }
  }
}

/// RFC 6750 §3: a request without a token gets the challenge, one with a wrong token an error too.
private struct AdminMiddleware: RouterMiddleware {
  typealias Context = HostRequestContext

  let authenticator: AdminAuthenticator

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let authorization = request.headers[.authorization]
    guard authenticator.accepts(authorization: authorization) else {
      context.requestLogger.notice("An admin's token was refused")
      let challenge = authorization == nil ? "Bearer" : #"Bearer error="invalid_token""#
      throw HTTPError(
        .unauthorized, headers: [.wwwAuthenticate: challenge], message: "the admin's bearer token is required")
    }
    return try await next(request, context)
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

  private static func digest(of text: String) throws -> SHA256Digest {
    var digester = try Digester<SHA256Digest>.sha256()
    digester.update(Array(text.utf8))
    return try digester.finish()
  }
}
