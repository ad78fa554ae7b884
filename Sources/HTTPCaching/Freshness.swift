import HTTPTypes

/// The age and the freshness lifetime of a stored response at one time. RFC 9111 §4.2.
///
///     let freshness = Freshness(of: stored, at: now)
///     print(freshness.age, "of", freshness.lifetime, "seconds:", freshness.isFresh ? "fresh" : "stale")
public struct Freshness: Hashable, Sendable {
  /// The age in seconds, from 0 to ``CacheControl/longestSeconds``.
  public let age: Int64
  /// The freshness lifetime in seconds, from 0 to ``CacheControl/longestSeconds``.
  public let lifetime: Int64
  /// `false` if neither the response nor the rule determines a lifetime.
  public let isKnown: Bool
  /// The remaining seconds of freshness; 0 or less if the response is stale.
  public let remaining: Int64

  /// Creates the freshness of a stored response.
  ///
  /// - Parameters:
  ///   - stored: the response.
  ///   - now: the time.
  ///   - rule: the caller's own limit to freshness lifetimes.
  public init(of stored: StoredResponse, at now: HTTPDate, rule: LifetimeRule = .server) {
    age = stored.age.seconds(at: now)
    lifetime = rule.applied(to: stored.lifetime.seconds)
    if case .exactly = rule { isKnown = true } else { isKnown = stored.lifetime.source != .unknown }
    // RFC 9111 §4.2.4: a response that was marked is stale since then. The mark does not change its age (§5.1).
    let left = stored.staleSince.map { min(0, $0.secondsSinceEpoch.bounded - now.secondsSinceEpoch.bounded) }
    remaining = min(lifetime - age, left ?? .max)
  }

  /// `true` if the response is fresh.
  public var isFresh: Bool { remaining > 0 }
}

// MARK: - Lifetime

/// The freshness lifetime of a response, and the rule that determined it. RFC 9111 §4.2.1, §4.2.2.
public struct FreshnessLifetime: Hashable, Sendable {
  /// The rule that determined a lifetime.
  public enum Source: String, Hashable, Sendable {
    /// `s-maxage`, in a shared cache only. RFC 9111 §5.2.2.10.
    case sharedMaxAge = "s-maxage"
    /// `max-age`. RFC 9111 §5.2.2.1.
    case maxAge = "max-age"
    /// The time from `Date` to `Expires`. RFC 9111 §5.3.
    case expires = "Expires"
    /// A tenth of the time since the last modification, at most one day. RFC 9111 §4.2.2.
    case heuristic
    /// No rule applies, and a heuristic lifetime is not allowed.
    case unknown
  }

  /// Seconds since the response was generated, from 0 to ``CacheControl/longestSeconds``.
  public let seconds: Int64
  /// The rule that determined it.
  public let source: Source

  /// RFC 9111 §4.2.2 suggests a tenth of the time since the last modification.
  private static let heuristicFraction: Int64 = 10
  /// The limit of heuristic lifetimes: one day, in seconds.
  private static let longestHeuristic: Int64 = 86_400

  /// RFC 9110 §15.1: the statuses that are heuristically cacheable.
  static let heuristicStatuses: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

  /// Creates the lifetime of a response.
  ///
  /// - Parameters:
  ///   - response: the head.
  ///   - policy: the rules of the cache: they determine if `s-maxage` applies, and which targeted fields.
  ///   - received: when the response arrived; replaces a `Date` that is absent or invalid. RFC 9110 §6.6.1.
  public init(of response: HTTPResponse, policy: CachePolicy, received: HTTPDate) {
    self.init(
      of: response, control: policy.control(of: response.headerFields), isShared: policy.mode == .shared,
      received: received)
  }

  /// - Parameter found: the directives that apply to the cache: ``CachePolicy/control(of:)``.
  init(
    of response: HTTPResponse, control found: (directives: CacheControl, isTargeted: Bool), isShared: Bool,
    received: HTTPDate
  ) {
    let fields = response.headerFields
    let control = found.directives
    let date = HTTPDate(singleIn: fields, .date, now: received) ?? received
    // RFC 9111 §4.2.1: the first match applies.
    if isShared, let seconds = control.sharedMaxAge {
      self.init(seconds: seconds, source: .sharedMaxAge)
    } else if let seconds = control.maxAge {
      self.init(seconds: seconds, source: .maxAge)
    } else if fields.contains(.expires), !found.isTargeted {
      // RFC 9111 §5.3: an invalid date, "0" above all, is in the past.
      let expires = HTTPDate(singleIn: fields, .expires, now: received)
      self.init(seconds: expires.map { Self.difference(from: date, to: $0) } ?? 0, source: .expires)
    } else if Self.heuristicStatuses.contains(response.status.code) || control.isPublic,
      let modified = HTTPDate(singleIn: fields, .lastModified, now: received)
    {
      let tenth = Self.difference(from: modified, to: date) / Self.heuristicFraction
      self.init(seconds: min(tenth, Self.longestHeuristic), source: .heuristic)
    } else {
      self.init(seconds: 0, source: .unknown)
    }
  }

  private init(seconds: Int64, source: Source) {
    self.seconds = seconds
    self.source = source
  }

  /// From 0 to ``CacheControl/longestSeconds``.
  private static func difference(from start: HTTPDate, to end: HTTPDate) -> Int64 {
    let (seconds, overflows) = end.secondsSinceEpoch.subtractingReportingOverflow(start.secondsSinceEpoch)
    return overflows ? 0 : min(max(0, seconds), CacheControl.longestSeconds)
  }
}

/// A client's own rule for freshness lifetimes.
public enum LifetimeRule: Hashable, Sendable {
  /// The server's lifetime.
  case server
  /// The server's lifetime, but at most this number of seconds.
  case atMost(Int64)
  /// This number of seconds instead of the server's lifetime.
  case exactly(Int64)

  /// The lifetime in seconds, from 0 to ``CacheControl/longestSeconds``.
  func applied(to seconds: Int64) -> Int64 {
    switch self {
    case .server: seconds
    case .atMost(let limit): min(seconds, max(0, limit))
    case .exactly(let seconds): min(max(0, seconds), CacheControl.longestSeconds)
    }
  }
}

// MARK: - Age

/// The times of an exchange by the cache's clock: `request_time` and `response_time` of RFC 9111 §4.2.3.
public struct ExchangeTimes: Hashable, Sendable {
  /// When the request was sent.
  public let request: HTTPDate
  /// When the head of the response arrived; never before `request`.
  public let response: HTTPDate

  /// Creates the times of an exchange. If the clock was set back between the two, `response` becomes `request`, so that
  /// the response does not appear younger than it is.
  ///
  /// - Parameters:
  ///   - request: when the request was sent.
  ///   - response: when the head of the response arrived.
  public init(request: HTTPDate, response: HTTPDate) {
    self.request = request
    self.response = max(request, response)
  }
}

/// The age of a stored response. RFC 9111 §4.2.3.
package struct Age: Hashable, Sendable {
  /// The age at its arrival in seconds: `corrected_initial_age`.
  package let initial: Int64
  private let response: HTTPDate

  /// Creates the age of a response.
  ///
  /// - Parameters:
  ///   - fields: the fields as received.
  ///   - times: the times of the exchange.
  package init(of fields: HTTPFields, times: ExchangeTimes) {
    response = times.response
    let received = times.response.secondsSinceEpoch.bounded
    let date = HTTPDate(singleIn: fields, .date, now: times.response)?.secondsSinceEpoch.bounded
    let apparentAge = max(0, received - (date ?? received))
    let delay = received - times.request.secondsSinceEpoch.bounded
    let correctedAge = (Self.value(of: fields) ?? 0) + delay
    initial = max(apparentAge, correctedAge)
  }

  /// Returns the age in seconds at a later time: `current_age`. It never falls while `now` grows.
  package func seconds(at now: HTTPDate) -> Int64 {
    let resident = now.secondsSinceEpoch.bounded - response.secondsSinceEpoch.bounded
    return min(initial + max(0, resident), CacheControl.longestSeconds)
  }

  /// RFC 9111 §5.1: the first of several values applies, and an invalid one is ignored.
  private static func value(of fields: HTTPFields) -> Int64? {
    guard let line = fields[values: .age].first else { return nil }
    return Directive(name: "age", argument: line.prefix { $0 != "," }.trimmingSpaces).seconds
  }
}

extension Int64 {
  /// The value within ±2⁵⁰: all dates are within, and sums of two values cannot overflow.
  var bounded: Int64 { Swift.min(Swift.max(self, -(1 << 50)), 1 << 50) }
}

extension HTTPDate {
  /// Reads the date of a field in any of the three formats. Returns `nil` if the field is absent, repeated or invalid.
  init?(singleIn fields: HTTPFields, _ name: HTTPField.Name, now: HTTPDate) {
    let lines = fields[values: name]
    guard lines.count == 1, let line = lines.first else { return nil }
    self.init(line, now: now)
  }
}
