import CoreMetrics
import Hummingbird

/// Refuses requests that pages of other sites make in their users' browsers: see ``SiteRules``.
struct SiteMiddleware: RouterMiddleware {
  typealias Context = HostRequestContext

  let rules: SiteRules
  /// `nil` if there is no token.
  let authenticator: AdminAuthenticator?
  let metrics: HostMetrics

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let showsToken = authenticator?.accepts(authorization: request.headers[.authorization]) ?? false
    if let refusal = rules.refusal(of: request.head, showsToken: showsToken) {
      metrics.refusals(refusal.name).increment()
      throw HTTPError(refusal.status, message: "\(refusal)")
    }
    return try await next(request, context)
  }
}
