import HTTPTypes

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

// MARK: - Lifetime

/// How long a response is fresh, and which rule says so. RFC 9111 §4.2.1, §4.2.2.
public struct FreshnessLifetime: Hashable, Sendable {
  public enum Source: String, Hashable, Sendable {
    case sharedMaxAge = "s-maxage"
    case maxAge = "max-age"
    case expires = "Expires"
    /// A tenth of the time since it was modified.
    case heuristic
    /// Nothing tells, and nothing may be guessed.
    case unknown
  }

  /// From its making at the origin.
  public let seconds: Int64
  public let source: Source

  /// RFC 9111 §4.2.2 suggests a tenth of the time since the last modification.
  private static let heuristicFraction: Int64 = 10
  /// However long ago it was modified, nobody is left with a guess for more than a day.
  private static let longestHeuristic: Int64 = 86_400

  /// RFC 9110 §15.1: the statuses that are heuristically cacheable.
  static let heuristicStatuses: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

  /// - Parameters:
  ///   - policy: says whether `s-maxage` counts, and which targeted fields.
  ///   - received: when the response came; stands for a `Date` that is absent or unreadable. RFC 9110 §6.6.1.
  public init(of response: HTTPResponse, policy: CachePolicy, received: HTTPDate) {
    self.init(
      of: response, control: ResponseControl(of: response.headerFields, policy: policy),
      isShared: policy.mode == .shared, received: received)
  }

  init(of response: HTTPResponse, control responseControl: ResponseControl, isShared: Bool, received: HTTPDate) {
    let fields = response.headerFields
    let control = responseControl.directives
    let date = HTTPDate(singleIn: fields, .date, now: received) ?? received
    // RFC 9111 §4.2.1: the first that is there counts.
    if isShared, let seconds = control.sharedMaxAge {
      self.init(seconds: seconds, source: .sharedMaxAge)
    } else if let seconds = control.maxAge {
      self.init(seconds: seconds, source: .maxAge)
    } else if fields.contains(.expires), !responseControl.isTargeted {
      // RFC 9111 §5.3: what is no date, "0" above all, is in the past.
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

// MARK: - Age

/// When a response was asked for and when it came, by this machine's clock.
public struct ExchangeTimes: Hashable, Sendable {
  public let request: HTTPDate
  public let response: HTTPDate

  /// A clock that was set back between the two must not make a response younger: `response` is then `request`.
  public init(request: HTTPDate, response: HTTPDate) {
    self.request = request
    self.response = max(request, response)
  }
}

/// How old a stored response is. RFC 9111 §4.2.3.
public struct Age: Hashable, Sendable {
  /// Seconds when it came: `corrected_initial_age`.
  public let initial: Int64
  private let response: HTTPDate

  /// - Parameter fields: the response's, as it came.
  public init(of fields: HTTPFields, times: ExchangeTimes) {
    response = times.response
    let received = times.response.secondsSinceEpoch.bounded
    let date = HTTPDate(singleIn: fields, .date, now: times.response)?.secondsSinceEpoch.bounded
    let apparentAge = max(0, received - (date ?? received))
    let delay = received - times.request.secondsSinceEpoch.bounded
    let correctedAge = (Self.value(of: fields) ?? 0) + delay
    initial = max(apparentAge, correctedAge)
  }

  /// Seconds at a later time: `current_age`. Never falls while `now` grows, whatever the clock was before.
  public func seconds(at now: HTTPDate) -> Int64 {
    let resident = now.secondsSinceEpoch.bounded - response.secondsSinceEpoch.bounded
    return min(initial + max(0, resident), CacheControl.longestSeconds)
  }

  /// RFC 9111 §5.1: of several values the first counts, and one that is no count of seconds is ignored.
  private static func value(of fields: HTTPFields) -> Int64? {
    guard let name = HTTPField.Name("Age"), let line = fields[values: name].first else { return nil }
    return Directive(name: "age", argument: line.prefix { $0 != "," }.trimmingSpaces).seconds
  }
}

extension Int64 {
  /// Far enough for every date there is, and near enough that sums cannot overflow.
  var bounded: Int64 { Swift.min(Swift.max(self, -(1 << 50)), 1 << 50) }
}

extension HTTPDate {
  /// A field that may stand once, and names a date in any of the three formats. Nil where it is absent, stands twice, or
  /// is no date.
  init?(singleIn fields: HTTPFields, _ name: HTTPField.Name, now: HTTPDate) {
    let lines = fields[values: name]
    guard lines.count == 1, let line = lines.first else { return nil }
    self.init(line, now: now)
  }
}
