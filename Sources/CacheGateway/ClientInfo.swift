import ServerKit

/// The client of a request, and how the request arrived.
struct ClientInfo: Sendable {
  /// The fields that describe the client to the origin.
  let client: ForwardedFields
  /// The HTTP version of the request.
  let version: RequestVersion
  /// The disconnection of the client, which ends the work for it.
  let disconnection: ClientDisconnection
  /// The note for the access log.
  var note: AccessLogNote?
  /// The trace of the request, as it is sent to the origin.
  let trace: TraceParent
}
