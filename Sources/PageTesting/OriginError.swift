/// What can go wrong with an origin itself.
public enum OriginError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The port is taken or not allowed.
  case cannotListen(port: Int, reason: String)
  /// What a test waited for did not happen in time.
  case deadlinePassed(waitedFor: String, limit: Duration, found: Int)
  /// The origin was stopped while a test waited, or before it was used.
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
