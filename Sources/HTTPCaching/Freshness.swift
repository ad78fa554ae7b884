/// A stored response's age and lifetime at one moment. RFC 9111 §4.2.
public struct Freshness: Hashable, Sendable {
  /// Seconds since its making.
  public let age: Int64
  /// Seconds it is fresh for in all.
  public let lifetime: Int64
  /// Whether anything told the lifetime.
  public let isKnown: Bool
  /// Seconds it stays fresh; not above zero when it is stale.
  public let remaining: Int64

  public init(of stored: StoredResponse, at now: HTTPDate, rule: LifetimeRule = .server) {
    age = stored.age.seconds(at: now)
    lifetime = rule.applied(to: stored.lifetime.seconds)
    if case .exactly = rule { isKnown = true } else { isKnown = stored.lifetime.source != .unknown }
    // RFC 9111 §4.2.4: what was marked is as any other stale response; it has been one since then. Its age is what it
    // was: that tells of its making (§5.1).
    let left = stored.staleSince.map { min(0, $0.secondsSinceEpoch.bounded - now.secondsSinceEpoch.bounded) }
    remaining = min(lifetime - age, left ?? .max)
  }

  public var isFresh: Bool { remaining > 0 }
}
