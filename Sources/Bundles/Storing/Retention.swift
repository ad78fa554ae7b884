import HTTPTransport

/// Why the collector leaves a release where it is.
enum Retention: Hashable, Sendable {
  case held
  case current
  case incoming
  case previous
  /// Another took its place a moment ago.
  case recent
  /// An open page sees it.
  case viewed

  /// What is known of a release, and what the collection is to spare.
  struct Input: Hashable, Sendable {
    var role: ReleaseSummary.Role
    var isHeld = false
    /// Seconds since another release took its place.
    var replacedFor: Double = .infinity
    /// In seconds.
    var grace: Double = 0
    var keepsPrevious = false
  }

  /// Returns `nil` for a release that may go.
  init?(of situation: Input) {
    switch situation.role {
    case .current: self = situation.isHeld ? .held : .current
    case .incoming: self = .incoming
    case .previous where situation.keepsPrevious: self = .previous
    case .previous, .former:
      guard situation.keepsPrevious, situation.replacedFor < situation.grace else { return nil }
      self = .recent
    }
  }

  /// The order in which releases go where there are too many; `nil` for those that stay whatever there is.
  ///
  /// - Parameter isLastUsed: whether its source is the one that was used last.
  func evictionRank(isLastUsed: Bool) -> Int? {
    switch self {
    case .recent: 0
    case .previous: 1
    case .current: isLastUsed ? nil : 2
    case .held, .incoming, .viewed: nil
    }
  }

  var description: String {
    switch self {
    case .held: "current, and held until \"release follow\""
    case .current: "current"
    case .incoming: "coming in"
    case .previous: "the one before the current one"
    case .viewed: "a page that is open sees it"
    case .recent: "replaced a moment ago"
    }
  }
}
