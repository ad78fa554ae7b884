import Foundation
import HTTPTransport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1

/// JSON responses with common header fields.
extension Response {
  package static func error(_ status: HTTPResponse.Status, _ reason: String, _ fields: HTTPFields = [:]) -> Response {
    json(text: JSONValue.error(reason).text, status: status, fields)
  }

  /// Times are RFC 3339.
  package static func json(
    _ value: some Encodable, status: HTTPResponse.Status = .ok, _ fields: HTTPFields = [:]
  ) -> Response {
    guard let text = try? value.servedJSON() else { return Response(status: .internalServerError) }
    return json(text: text, status: status, fields)
  }

  package static func json(_ members: [String: JSONValue], status: HTTPResponse.Status = .ok) -> Response {
    json(text: JSONValue.object(members).text, status: status)
  }

  /// Makes a response that caches must not store, unless the fields say otherwise, because it describes the present
  /// state.
  ///
  /// - Parameter text: JSON.
  package static func json(
    text: [UInt8], status: HTTPResponse.Status = .ok, _ fields: HTTPFields = [:]
  ) -> Response {
    var fields = fields
    fields[.contentType] = "application/json"
    fields[.cacheControl] = fields[.cacheControl] ?? "no-store"
    fields[.contentLength] = "\(text.count)"
    return Response(status: status, headers: fields, body: .init(byteBuffer: ByteBuffer(bytes: text)))
  }
}

extension JSONValue {
  /// The body of each error: `{"error": "…"}`.
  static func error(_ reason: String) -> JSONValue { .object(["error": .string(reason)]) }
}

extension Encodable {
  /// The value as servers write it: JSON without line breaks, its members sorted.
  package func servedJSON() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(self))
  }
}

extension HostMiddleware {
  /// Returns every error as `{"error": "…"}`. An internal error is logged, and the client gets a general message.
  ///
  /// - Throws: the error of an error that makes a response by itself.
  func response(to error: any Error, _ request: Request, _ context: Context) throws -> Response {
    switch error {
    case let error as HTTPError: return Self.response(error, request)
    case let error as any HTTPResponseError: return try error.response(from: request, context: context)
    case is HTTPParserError: return Self.response(.invalidBody, request)
    case is CancellationError where context.disconnection.hasHappened:
      // No client reads this response; the connection ends.
      context.requestLogger.debug("The client has disconnected", metadata: ["path": "\(request.uri.path)"])
      return .error(.badRequest, "the client has disconnected", [.connection: "close"])
    default:
      context.requestLogger.error(
        "A request failed", metadata: ["error": "\(error.sentence)", "path": "\(request.uri.path)"])
      return .error(.internalServerError, "an internal error occurred; the log has it under the request's id")
    }
  }

  private static func response(_ error: HTTPError, _ request: Request) -> Response {
    var response = Response.error(error.status, error.body ?? reason(error.status, request))
    for field in error.headers where field.name != .contentLength { response.headers.append(field) }
    return response
  }

  private static func reason(_ status: HTTPResponse.Status, _ request: Request) -> String {
    status == .notFound
      ? "there is nothing at \(request.method) \(request.uri.path.prefix(200))" : status.reasonPhrase.lowercased()
  }
}
