/// A client's own word on how long responses are fresh.
public enum LifetimeRule: Hashable, Sendable {
  /// As the server says.
  case server
  /// Seconds at most, whatever the server says.
  case atMost(Int64)
  /// Seconds, whatever the server says.
  case exactly(Int64)

  /// From 0 to ``CacheControl/longestSeconds``.
  func applied(to seconds: Int64) -> Int64 {
    switch self {
    case .server: seconds
    case .atMost(let limit): min(seconds, max(0, limit))
    case .exactly(let seconds): min(max(0, seconds), CacheControl.longestSeconds)
    }
  }
}
