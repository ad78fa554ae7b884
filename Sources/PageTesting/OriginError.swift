/// An error of a ``FaultOrigin`` itself.
public enum OriginError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The port is in use or not permitted.
  case cannotListen(port: Int, reason: String)
  /// An expectation was not met in time; `found` is the last number.
  case deadlinePassed(waitedFor: String, limit: Duration, found: Int)
  /// The origin was stopped before or during the call.
  case stopped

  public var description: String {
    switch self {
    case .cannotListen(let port, let reason): "cannot listen on 127.0.0.1:\(port): \(reason)"
    case .deadlinePassed(let expectation, let limit, let found):
      "waited \(limit) for \(expectation), found \(found)"
    case .stopped: "the origin has been stopped"
    }
  }
}
