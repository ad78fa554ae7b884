import HTTPTypes

/// Sends requests to origins, for responses and for bundles: asks whether a request may go out, lets so many run at
/// once, and records which origins answer.
///
/// It follows no redirects and does not retry: callers do, with ``RedirectDecision`` and ``RetryPolicy``, since each
/// redirect and each try is a request of its own.
package final class OriginSender: Sendable {
  package let reachability: Reachability
  /// `nil` if callers bound their transfers themselves.
  package let gate: TransferGate?
  private let transport: any HTTPTransporting
  private let permission: @Sendable (PageURL) throws -> Void

  /// - Parameters:
  ///   - reachability: is told what becomes of requests.
  ///   - gate: bounds the transfers, from the request to the end of the response's body.
  ///   - permission: throws what the caller of a request to a URL is to get instead of a response.
  package init(
    _ transport: any HTTPTransporting, reachability: Reachability, gate: TransferGate? = nil,
    permission: @escaping @Sendable (PageURL) throws -> Void = { _ in }
  ) {
    (self.transport, self.reachability, self.gate, self.permission) = (transport, reachability, gate, permission)
  }

  /// Returns `true` if a request may go to the URL's origin now.
  ///
  /// - Parameter insists: `true` to send to an origin that counts as unreachable, unless the network is set to offline.
  /// - Throws: what the permission throws.
  package func admits(_ url: PageURL, insists: Bool = false) throws -> Bool {
    try permission(url)
    return insists ? reachability.setting != .offline : reachability.admits(url)
  }

  /// Sends one request as soon as the gate lets it. Its place is taken until its body has ended, or its last reader has
  /// gone.
  ///
  /// - Parameters:
  ///   - number: to wait by at the gate; `nil` for a new one.
  /// - Throws: ``TransferGate/Full``, ``TransportError``, `CancellationError`.
  package func send(
    _ request: TransportRequest, to url: PageURL, number: UInt64? = nil, priority: LoadPriority = .normal
  ) async throws -> TransportResponse {
    guard let gate else { return try await transmit(request, to: url) }
    let pass = try await gate.enter(number ?? gate.number(), priority: priority)
    let response = try await transmit(request, to: url)
    return TransportResponse(head: response.head, body: pass.occupied(by: response.body), version: response.version)
  }

  private func transmit(_ request: TransportRequest, to url: PageURL) async throws -> TransportResponse {
    do {
      let response = try await transport.send(request)
      reachability.recordSuccess(url)
      return response
    } catch {
      reachability.record(error, for: url)
      throw error
    }
  }
}

/// Header fields, such as credentials, that are sent to one origin only.
///
/// Logs and descriptions never contain their values.
package struct OriginFields: Sendable, CustomStringConvertible {
  package let origin: String
  private let fields: HTTPFields

  /// Makes fields for an origin.
  ///
  /// - Parameters:
  ///   - fields: the fields.
  ///   - url: any URL of the origin.
  package init(_ fields: HTTPFields, for url: PageURL) {
    origin = url.origin
    self.fields = fields
  }

  package func adding(to request: HTTPFields, for url: PageURL) -> HTTPFields {
    guard url.origin == origin else { return request }
    var request = request
    for field in fields { request[field.name] = nil }
    for field in fields { request.append(field) }
    return request
  }

  package var description: String { "\(fields.count) fields for \(origin)" }
}
