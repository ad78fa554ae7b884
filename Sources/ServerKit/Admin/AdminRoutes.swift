import HTTPTransport
import HTTPTypes
import Hummingbird
import Logging

/// The routes `/admin/…`, which require the token. If no token is set, they do not exist and the answer is 404.
struct AdminRoutes: Sendable {
  let controls: ServerControls
  let report: @Sendable () -> SettingsReport
  let authenticator: AdminAuthenticator?

  func add(to router: some RouterMethods<HostRequestContext>) {
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
