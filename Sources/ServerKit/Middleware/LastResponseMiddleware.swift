import HTTPTypes
import Hummingbird

/// Answers no request after a response that closes the connection. A client may have sent some at once with the request
/// before, and they are here before the connection is closed.
package struct LastResponseMiddleware: RouterMiddleware {
  package typealias Context = HostRequestContext

  package init() {}

  package func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    if context.followsLast {
      try? await context.channel.closeFuture.get()
      throw CancellationError()
    }
    let response = try await next(request, context)
    if response.headers[.connection]?.lowercased() == "close" {
      ConnectionContext.current?.change(context.channel) { $0.hasLast = true }
    }
    return response
  }
}
