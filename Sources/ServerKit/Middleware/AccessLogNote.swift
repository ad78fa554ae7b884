import Synchronization

/// Further fields for a request's line in the access log, set by the part that answers it.
package final class AccessLogNote: Sendable {
  private let state = Mutex<[String: String]>([:])

  package init() {}

  /// The values by the names of the fields.
  package var fields: [String: String] { state.withLock(\.self) }

  package func change(_ body: (inout [String: String]) -> Void) { state.withLock { body(&$0) } }
}
