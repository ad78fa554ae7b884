import HTTPTypes

/// What an origin's answer means for what is stored. RFC 9111 §4.3.3.
public enum ResponseDecision: Equatable, Sendable {
  /// It is the answer.
  case use
  /// What is stored is the answer, with these fields. RFC 9111 §4.3.4.
  case freshen(StoredResponse, fields: HTTPFields)
  /// It goes on where the stored part ends: together they are the answer. RFC 9111 §3.4.
  case append(StoredResponse, fields: HTTPFields, total: Int64?)
  /// It cannot be true of what is stored: ask once more, without conditions.
  case askAgain(HTTPRequest)
  /// What is stored is the better answer. RFC 5861 §4.
  case serveStale(StoredResponse, because: ServeReason)
}
