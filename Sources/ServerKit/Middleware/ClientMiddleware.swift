import HTTPTypes
import Hummingbird

/// Tells clients behind a trusted proxy apart.
struct ClientMiddleware: RouterMiddleware {
  typealias Context = HostRequestContext

  let proxies: TrustedProxies

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    var context = context
    context.client = proxies.client(of: request.headers, from: context.client)
    return try await next(request, context)
  }
}
