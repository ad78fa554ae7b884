import HTTPCaching
import HTTPTransport
import HTTPTypes

/// Adds `Via` to each response, and `Date` to responses without one, so that stored responses have them. RFC 9110
/// §6.6.1, §7.6.3.
struct ViaDateTransport: HTTPTransporting {
  let base: any HTTPTransporting
  let now: @Sendable () -> HTTPDate

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    let response = try await base.send(request)
    var head = response.head
    if !head.headerFields.contains(.date) { head.headerFields[.date] = now().description }
    GatewayFields.addWay(version: response.version ?? "1.1", to: &head.headerFields)
    return TransportResponse(head: head, body: response.body, version: response.version)
  }
}
