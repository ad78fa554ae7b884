import CoreMetrics
import HTTPTypes
import Hummingbird
import NIOCore

/// Checks a request against the limits of its URL, header and body. The error names the limit.
package struct LimitsMiddleware: RouterMiddleware {
  package typealias Context = HostRequestContext

  package let limits: ServerSettings.Limits
  package let metrics: HostMetrics

  package init(
    limits: ServerSettings.Limits, metrics: HostMetrics
  ) {
    self.limits = limits
    self.metrics = metrics
  }

  package func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    if let refusal = Self.refusal(request.head, limits) {
      metrics.refusals(refusal.reason).increment()
      throw refusal.error
    }
    // A body with a length was checked with the head, and the decoder ends it there.
    guard request.headers[.contentLength] == nil, request.method != .get, request.method != .head else {
      return try await next(request, context)
    }
    var request = request
    request.body = RequestBody(
      asyncSequence: LimitedBody(base: request.body, limit: limits.body) {
        metrics.refusals("body").increment()
      })
    return try await next(request, context)
  }

  /// Returns the limit that a request's head exceeds, with its error; `nil` if there is none.
  package static func refusal(_ head: HTTPRequest, _ limits: ServerSettings.Limits) -> (
    reason: String, error: HTTPError
  )? {
    let url = head.path?.utf8.count ?? 0
    if url > limits.url {
      // RFC 9110 §15.5.15.
      return ("url", closing(.uriTooLong, "the URL has \(url) bytes, the limit is \(limits.url)"))
    }
    let header = head.headerFields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count }
    if header > limits.header {
      // RFC 6585 §5.
      let reason = "the header fields have \(header) bytes, the limit is \(limits.header)"
      return ("header", closing(.requestHeaderFieldsTooLarge, reason))
    }
    guard let text = head.headerFields[.contentLength] else { return nil }
    // Of HTTP/1 such a head comes no further than its connection's handler.
    guard let length = Int(text), length >= 0 else {
      return ("unclear", closing(.badRequest, AmbiguousRequestError.badLength))
    }
    return length > limits.body ? ("body", LimitedBody.error(limit: limits.body)) : nil
  }

  static func closing(_ status: HTTPResponse.Status, _ reason: String) -> HTTPError {
    HTTPError(status, headers: [.connection: "close"], message: reason)
  }
}
