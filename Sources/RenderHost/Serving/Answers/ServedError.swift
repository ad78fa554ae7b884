import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// An answer that is no content: one sentence, as JSON.
struct ServedError: Error, HTTPResponseError {
  let status: HTTPResponse.Status
  let reason: String
  var fields = HTTPFields()

  static func notFound(_ reason: String) -> ServedError { ServedError(status: .notFound, reason: reason) }

  /// Nothing is served yet.
  static var noRelease: ServedError {
    ServedError(
      status: .serviceUnavailable, reason: "no release is served yet: try again in a moment",
      fields: [.retryAfter: "1"])
  }

  func response(from request: Request, context: some RequestContext) throws -> Response { response }

  var response: Response {
    struct Body: Encodable { let error: String }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    let body = (try? encoder.encode(Body(error: reason))) ?? Data("{}".utf8)
    var fields = fields
    fields[.contentType] = "application/json"
    fields[.cacheControl] = fields[.cacheControl] ?? "no-store"
    ServedFields.allowAnyOrigin(&fields)
    return Response(status: status, headers: fields, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
  }
}
