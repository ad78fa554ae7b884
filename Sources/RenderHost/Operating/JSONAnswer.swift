import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// Answers in JSON.
enum JSONAnswer {
  static func error(_ status: HTTPResponse.Status, _ reason: String) -> Response {
    json(["error": reason], status: status)
  }

  /// Times are RFC 3339; not to be stored, because it tells of the moment.
  static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) -> Response {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { return Response(status: .internalServerError) }
    return Response(
      status: status,
      headers: [
        .contentType: "application/json", .cacheControl: "no-store", .contentLength: "\(data.count)",
      ],
      body: .init(byteBuffer: ByteBuffer(bytes: data)))
  }
}
