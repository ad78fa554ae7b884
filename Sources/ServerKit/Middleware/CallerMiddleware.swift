import CoreMetrics
import HTTPTypes
import Hummingbird

/// Stands before the routes that are not for everybody: refuses requests that pages of other sites make in their users'
/// browsers (``SiteRules``), and asks for the token where other machines can reach them.
struct CallerMiddleware: RouterMiddleware {
  typealias Context = HostRequestContext

  let rules: SiteRules
  let group: RouteGroup
  /// `nil` if there is no token.
  let authenticator: AdminAuthenticator?
  let asksToken: Bool
  let metrics: HostMetrics

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let authorization = request.headers[.authorization]
    let showsToken = authenticator?.accepts(authorization: authorization) ?? false
    if let refusal = rules.refusal(of: request.head, to: group, showsToken: showsToken) {
      metrics.refusals(refusal.name).increment()
      throw HTTPError(refusal.status, message: "\(refusal)")
    }
    // Without a token there is none that could be shown.
    guard !asksToken || showsToken || authenticator?.accepts(password: authorization) == true else {
      metrics.refusals("token").increment()
      throw HTTPError(
        .unauthorized, headers: AdminAuthenticator.challenge(with: authorization),
        message: "this needs the admin's token, as a bearer token or as a password")
    }
    return try await next(request, context)
  }
}
