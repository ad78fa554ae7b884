/// Who asks, and how.
struct RequestSender: Sendable {
  /// What is told of it.
  let client: ForwardedFields
  /// In which the request came.
  let version: RequestVersion
  /// Ends what is under way for it.
  let departure: ClientDeparture
}
