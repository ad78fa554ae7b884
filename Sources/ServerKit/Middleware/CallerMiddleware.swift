import CoreMetrics
import HTTPTypes
import Hummingbird

/// Guards the routes that are not open to everybody: refuses requests that pages of other sites cause (``SiteRules``),
/// and requires the token where other machines can reach the routes.
struct CallerMiddleware: RouterMiddleware {
  typealias Context = HostRequestContext

  let rules: SiteRules
  let group: RouteGroup
  /// Checks the token; `nil` if none is set.
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
    // If no token is set, no request can have it.
    guard !asksToken || showsToken || authenticator?.accepts(password: authorization) == true else {
      metrics.refusals("token").increment()
      throw HTTPError(
        .unauthorized, headers: AdminAuthenticator.challenge(with: authorization),
        message: "the admin's token is required, as a bearer token or as a password")
    }
    return try await next(request, context)
  }
}
