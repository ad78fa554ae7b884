import Fleet
import HTTPTypes
import Hummingbird
import ServerKit

/// The header fields of every served response.
enum ServedFields {
  static let contentMD5 = HTTPField.Name("Content-MD5")
  static let reprDigest = HTTPField.Name("Repr-Digest")

  /// The request fields on which a representation depends. RFC 9842 §6.2.
  static func vary(hasDeltas: Bool) -> String {
    hasDeltas ? "Accept-Encoding, Available-Dictionary" : "Accept-Encoding"
  }

  /// The directive for URLs that contain a digest, whose contents never change. RFC 8246.
  static let immutable = "public, max-age=31536000, immutable"
  /// The directive for URLs of changing contents, which are validated each time. RFC 9111 §5.2.2.4.
  static let revalidated = "no-cache"

  /// The policy of a release's documents in a browser: they show its pictures, styles, fonts and videos.
  ///
  /// Documents and SVG pictures have this server's origin, so that their scripts could read everything it serves.
  static let documentPolicy =
    "default-src 'none'; img-src 'self' data:; media-src 'self' data:; font-src 'self' data:; "
    + "style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; sandbox"

  /// Lets pages of any origin read the response, and these fields of it. They are sent also without an `Origin`, so
  /// that a cache in between stores them.
  static func allowAnyOrigin(_ fields: inout HTTPFields) {
    fields[.accessControlAllowOrigin] = "*"
    fields[.accessControlExposeHeaders] =
      "ETag, Content-MD5, Repr-Digest, Content-Range, Accept-Ranges, Content-Encoding, Content-Length, Last-Modified"
  }

  /// The answer to a preflight request.
  static var preflight: Response {
    var fields = HTTPFields()
    allowAnyOrigin(&fields)
    fields[.accessControlAllowMethods] = "GET, HEAD"
    fields[.accessControlAllowHeaders] =
      "Range, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, If-Range, Cache-Control, Last-Event-ID"
    fields[.accessControlMaxAge] = "86400"
    var response = Response(status: .noContent, headers: fields)
    response.headers[.contentLength] = nil
    return response
  }
}

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

  /// The journal of the fleet does not accept an order.
  static func fleetNotTold(_ error: JournalError, fields: HTTPFields = [:]) -> ServedError {
    ServedError(status: .serviceUnavailable, reason: "the fleet is not told: \(error)", fields: fields)
  }

  func response(from request: Request, context: some RequestContext) throws -> Response { response }

  var response: Response {
    var fields = fields
    ServedFields.allowAnyOrigin(&fields)
    return Response.error(status, reason, fields)
  }
}
