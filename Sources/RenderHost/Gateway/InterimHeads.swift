import HTTPTypes
import Hummingbird
import HummingbirdCore

/// Interim heads of the origin, such as 103, on their way to the client. RFC 9110 §15.2, RFC 8297.
enum InterimHeads {
  typealias Take = @Sendable (HTTPResponse) -> Void

  /// Nil for a client that is to get none.
  @TaskLocal static var current: Take?

  /// More at once are left out.
  private static let limit = 16

  /// Writes the interim heads that come while the answer is made.
  static func write(
    to writer: borrowing ResponseWriter, for request: Request,
    while answer: @escaping @Sendable () async throws -> Response
  ) async throws -> Response {
    // HTTP/1.0 knows none; its connections end with their first answer.
    if request.headers[.connection] == "close" { return try await answer() }
    let (heads, continuation) = AsyncStream.makeStream(of: HTTPResponse.self, bufferingPolicy: .bufferingOldest(limit))
    async let answered = $current.withValue({ continuation.yield(interim($0)) }) {
      defer { continuation.finish() }
      return try await answer()
    }
    for await head in heads { try await writer.writeInformationalHead(head) }
    return try await answered
  }

  private static func interim(_ head: HTTPResponse) -> HTTPResponse {
    HTTPResponse(status: head.status, headerFields: GatewayFields.response(head.headerFields))
  }
}
