import HTTPTypes

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
