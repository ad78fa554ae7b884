import HTTPTypes
import Hummingbird
import PageKit
import PageLoading

/// Why the gateway has no answer of the origin. RFC 9110 §15.6.3, §15.6.5.
struct GatewayFault: Error, HTTPResponseError, CustomStringConvertible {
  let status: HTTPResponse.Status
  let description: String
  let result: GatewayResult

  init(_ error: any Error) {
    description = "\(error)"
    result = if case LoadError.busy = error { .busy } else { .fault }
    status =
      switch error {
      case TransportError.timedOut, TransportError.tooSlow: .gatewayTimeout
      case LoadError.notStored: .gatewayTimeout
      // RFC 9110 §15.6.4.
      case LoadError.busy, LoadError.offline: .serviceUnavailable
      case LoadError.invalidReference: .badRequest
      default: .badGateway
      }
  }

  func response(from request: Request, context: some RequestContext) throws -> Response {
    var response = JSONAnswer.error(status, description)
    if status == .serviceUnavailable { response.headers[.retryAfter] = "1" }
    return response
  }
}
