import HTTPCache
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Hummingbird
import ServerKit

/// An error of an origin that did not give a response to forward. RFC 9110 §15.6.3 to §15.6.5.
struct GatewayError: Error, HTTPResponseError {
  let status: HTTPResponse.Status
  let result: GatewayResult
  /// The text for the client, which gives only the name of the origin.
  let reason: String
  /// The text for the operator, with the URL but without its query, which may be private.
  let detail: String
  /// `true` if a part of the request's body is unread: the connection must be closed. RFC 9112 §9.3.
  private let closes: Bool

  /// - Parameters:
  ///   - origin: the name of the origin.
  ///   - url: the requested URL.
  init(_ error: any Error, origin: String, url: String, closes: Bool = false) {
    self.closes = closes
    result = if case LoadError.busy = error { .busy } else { .fault }
    // The detail names the server that was requested.
    let query = url.drop { $0 != "?" }
    detail = query.isEmpty ? error.sentence : error.sentence.replacing(query, with: "")
    (status, reason) =
      switch error {
      case TransportError.timedOut, TransportError.tooSlow:
        (.gatewayTimeout, "the origin \(origin) has not answered in time")
      case LoadError.notStored: (.gatewayTimeout, "no stored response may be used, and the origin may not be asked")
      case LoadError.unvalidated:
        (
          .gatewayTimeout,
          "the origin \(origin) cannot be reached, and the stored response may not be used without asking it"
        )
      case LoadError.invalidReference: (.badRequest, "the request's target does not make a valid URL")
      case LoadError.busy:
        (.serviceUnavailable, "too many requests wait for the origin \(origin); try again later")
      case LoadError.offline:
        (.serviceUnavailable, "the origin \(origin) could not be reached a moment ago; try again later")
      case TransportError.cannotConnect, TransportError.cannotResolve, TransportError.insecure:
        (.badGateway, "the origin \(origin) cannot be reached")
      case TransportError.closedEarly:
        (.badGateway, "the origin \(origin) has closed the connection before the end of its answer")
      case TransportError.malformed: (.badGateway, "the answer of the origin \(origin) is not valid HTTP")
      case TransportError.tooLarge, LoadError.tooLarge:
        (.badGateway, "the answer of the origin \(origin) exceeds the limit of this gateway")
      default: (.badGateway, "the origin \(origin) has not answered")
      }
  }

  func response(from request: Request, context: some RequestContext) throws -> Response {
    var response = JSONAnswer.error(
      status, reason, CacheStatus(.generated, detail: result.rawValue).added(to: [:]))
    if status == .serviceUnavailable { response.headers[.retryAfter] = "1" }
    if closes { response.headers[.connection] = "close" }
    return response
  }
}
