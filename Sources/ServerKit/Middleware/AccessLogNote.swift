import Synchronization

/// Further fields of one request's line in the access log, filled in by the part that answers it.
final class AccessLogNote: Sendable {
  private let state = Mutex<[String: String]>([:])

  /// The values by the names of the fields.
  var fields: [String: String] { state.withLock(\.self) }

  func change(_ body: (inout [String: String]) -> Void) { state.withLock { body(&$0) } }
}
