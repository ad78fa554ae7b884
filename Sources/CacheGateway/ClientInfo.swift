import ServerKit

/// Who asks, and how.
struct ClientInfo: Sendable {
  /// What is told of it.
  let client: ForwardedFields
  /// In which the request came.
  let version: RequestVersion
  /// Ends what is under way for it.
  let departure: ClientDeparture
  /// For the access log.
  var note: AccessLogNote?
  /// The trace that it belongs to, as the origin is told.
  let trace: TraceParent
}
