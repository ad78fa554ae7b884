/// A stored response's age and lifetime at one moment. RFC 9111 §4.2.
public struct Freshness: Hashable, Sendable {
  /// Seconds since its making.
  public let age: Int64
  /// Seconds it is fresh for in all.
  public let lifetime: Int64
  /// Whether anything told the lifetime.
  public let isKnown: Bool

  public init(of stored: StoredResponse, at now: HTTPDate, rule: LifetimeRule = .server) {
    age = stored.age.seconds(at: now)
    lifetime = rule.applied(to: stored.lifetime.seconds)
    if case .exactly = rule { isKnown = true } else { isKnown = stored.lifetime.source != .unknown }
  }

  public var isFresh: Bool { lifetime > age }
  /// Seconds it stays fresh; negative when it is stale.
  public var remaining: Int64 { lifetime - age }
}
