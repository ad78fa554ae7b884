/// What a cache may do, by RFC 9111. It reads no clock and does no I/O.
public struct CachePolicy: Hashable, Sendable {
  public enum Mode: Hashable, Sendable {
    /// For one user.
    case `private`
    /// For many.
    case shared
  }

  public let mode: Mode

  public init(mode: Mode) { self.mode = mode }
}
