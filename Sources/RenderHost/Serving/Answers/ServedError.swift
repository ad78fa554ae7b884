import Fleet
import HTTPTypes
import Hummingbird
import ServerKit

/// An error as a response: one sentence, as JSON.
struct ServedError: Error, HTTPResponseError {
  let status: HTTPResponse.Status
  let reason: String
  var fields = HTTPFields()

  static func notFound(_ reason: String) -> ServedError { ServedError(status: .notFound, reason: reason) }

  /// No release is served yet.
  static var noRelease: ServedError {
    ServedError(
      status: .serviceUnavailable, reason: "no release is served yet: try again in a moment",
      fields: [.retryAfter: "1"])
  }

  /// The journal of the fleet does not take an order.
  static func fleetNotTold(_ error: JournalError, fields: HTTPFields = [:]) -> ServedError {
    ServedError(status: .serviceUnavailable, reason: "the fleet is not told: \(error)", fields: fields)
  }

  func response(from request: Request, context: some RequestContext) throws -> Response { response }

  var response: Response {
    var fields = fields
    ServedFields.allowAnyOrigin(&fields)
    return JSONAnswer.error(status, reason, fields)
  }
}
