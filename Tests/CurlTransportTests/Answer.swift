import CurlTransport
import HTTPTransport
import HTTPTypes
import Testing

/// A whole response in memory.
struct Answer: Sendable {
  let head: HTTPResponse
  let body: [UInt8]
  let summary: TransferSummary

  var text: String { String(decoding: body, as: UTF8.self) }
}

extension CurlTransport {
  /// Sends a request and reads the response to its end.
  func answer(to request: TransportRequest) async throws -> Answer {
    let response = try await send(request)
    var body: [UInt8] = []
    for try await chunk in response.body { body += chunk }
    return Answer(head: response.head, body: body, summary: await response.body.transferSummary())
  }

  /// The error of a transfer that must fail, before its head or in its body.
  func failure(
    of request: TransportRequest, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> TransportError {
    try await #require(throws: TransportError.self, sourceLocation: sourceLocation) {
      try await answer(to: request)
    }
  }
}
