import HTTPTypes
import Hummingbird
import PageKit
import PageLoading

/// Why the gateway has no answer of the origin. RFC 9110 §15.6.3, §15.6.5.
struct GatewayFault: Error, HTTPResponseError, CustomStringConvertible {
  let status: HTTPResponse.Status
  let description: String

  init(_ error: any Error) {
    description = "\(error)"
    status =
      switch error {
      case TransportError.timedOut, TransportError.tooSlow: .gatewayTimeout
      case LoadError.notStored: .gatewayTimeout
      case LoadError.invalidReference: .badRequest
      default: .badGateway
      }
  }

  func response(from request: Request, context: some RequestContext) throws -> Response {
    JSONAnswer.error(status, description)
  }
}
