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
  /// Takes the offer to replay the response; `nil` on channels whose responses are not recorded.
  var replay: ReplayContext?
  /// The trace of the request, as it is sent to the origin.
  let trace: TraceParent
  /// The gateway's origins, and the generation of those that answer.
  let current: GatewayOrigins
  let generation: Int
}
