import Synchronization

/// The gateway's notes on one request, for its line in the access log.
final class GatewayNote: Sendable {
  struct Content: Sendable {
    /// The origin's name.
    var origin: String?
    var result: GatewayResult?
    /// Of `traceparent`.
    var trace: String?
  }

  private let state = Mutex(Content())

  var content: Content { state.withLock(\.self) }

  func change(_ body: (inout Content) -> Void) { state.withLock { body(&$0) } }
}
