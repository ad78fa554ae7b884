import HTTPTypes
import Hummingbird
import ServerKit

/// An order that purges nothing, with the reason.
struct PurgeError: Error, HTTPResponseError, CustomStringConvertible {
  let status: HTTPResponse.Status
  let description: String

  init(_ description: String, status: HTTPResponse.Status = .badRequest) {
    self.status = status
    self.description = description
  }

  func response(from request: Request, context: some RequestContext) throws -> Response {
    JSONAnswer.error(status, description)
  }
}
