import ServerKit

/// The client of a request, and the way that the request came.
struct ClientInfo: Sendable {
  /// The fields that tell the origin of it.
  let client: ForwardedFields
  /// The version of HTTP in which the request came.
  let version: RequestVersion
  /// Ends what is under way for it.
  let disconnection: ClientDisconnection
  /// For the access log.
  var note: AccessLogNote?
  /// The trace that it belongs to, as the origin is told.
  let trace: TraceParent
}
