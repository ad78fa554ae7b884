import HTTPTypes
import PageCore

/// Writes into every answer as it comes by which way it came, so that what is stored keeps it. RFC 9110 §7.6.3.
struct NamingTransport: HTTPTransporting {
  let base: any HTTPTransporting

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    let response = try await base.send(request)
    var head = response.head
    GatewayFields.addWay(version: response.version ?? "1.1", to: &head.headerFields)
    return TransportResponse(head: head, body: response.body, version: response.version)
  }
}
