import Foundation
import HTTPTransport
import HTTPTypes
import Hummingbird
import NIOCore

/// Makes JSON responses with common header fields.
package enum JSONAnswer {
  package static func error(_ status: HTTPResponse.Status, _ reason: String, _ fields: HTTPFields = [:]) -> Response {
    json(["error": reason], status: status, fields)
  }

  /// Times are RFC 3339.
  package static func json(
    _ value: some Encodable, status: HTTPResponse.Status = .ok, _ fields: HTTPFields = [:]
  ) -> Response {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { return Response(status: .internalServerError) }
    return text(Array(data), status: status, fields)
  }

  package static func json(_ members: [String: JSONValue], status: HTTPResponse.Status = .ok) -> Response {
    text(JSONValue.object(members).text, status: status)
  }

  /// Makes a response that caches must not store, unless the fields say otherwise, because it describes the present
  /// state.
  package static func text(_ text: [UInt8], status: HTTPResponse.Status = .ok, _ fields: HTTPFields = [:]) -> Response {
    var fields = fields
    fields[.contentType] = "application/json"
    fields[.cacheControl] = fields[.cacheControl] ?? "no-store"
    fields[.contentLength] = "\(text.count)"
    return Response(status: status, headers: fields, body: .init(byteBuffer: ByteBuffer(bytes: text)))
  }
}
