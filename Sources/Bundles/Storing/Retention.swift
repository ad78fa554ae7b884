import HTTPTransport

/// The reason why the garbage collector keeps a release.
enum Retention: Hashable, Sendable {
  case held
  case current
  case incoming
  case previous
  /// The release was replaced within the grace time.
  case recent
  /// The release is among the newest former ones that the store keeps.
  case former
  /// An open page uses the release.
  case viewed
  /// The release is the newest good one, and the current one is on trial.
  case good
  /// Hosts with keys open the release, and a host without keys has made another one current.
  case signed

  /// The state of a release, and the options of the collection.
  struct Input: Hashable, Sendable {
    var role: ReleaseSummary.Role
    var isHeld = false
    /// The seconds since another release replaced it.
    var replacedFor: Double = .infinity
    /// The time for which replaced releases are kept, in seconds.
    var grace: Double = 0
    /// The number of releases that became current after it, and are not current any more.
    var newerFormer = 0
    /// The number of former releases that are kept.
    var keptFormer = 0
    var keepsPrevious = false
    /// `true` for the newest good release of a source whose current one is on trial.
    var isGoodForTrial = false
    /// `true` for the release that is current for hosts with keys.
    var isSignedCurrent = false
  }

  /// Returns `nil` for a release that may be removed.
  init?(of situation: Input) {
    switch situation.role {
    case .current: self = situation.isHeld ? .held : .current
    case .incoming: self = .incoming
    case .previous where situation.isSignedCurrent, .former where situation.isSignedCurrent: self = .signed
    case .previous where situation.keepsPrevious: self = .previous
    case .previous where situation.isGoodForTrial, .former where situation.isGoodForTrial: self = .good
    case .previous, .former:
      guard situation.keepsPrevious else { return nil }
      if situation.replacedFor < situation.grace {
        self = .recent
      } else if situation.newerFormer < situation.keptFormer {
        self = .former
      } else {
        return nil
      }
    }
  }

  /// The rank in the order in which releases are evicted, lowest first; `nil` for a release that is never evicted.
  ///
  /// - Parameter isLastUsed: `true` if its source is the most recently used one.
  func evictionRank(isLastUsed: Bool) -> Int? {
    switch self {
    case .recent, .former: 0
    case .previous, .good: 1
    case .current, .signed: isLastUsed ? nil : 2
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
    case .good: "good, while the current one is on trial"
    case .signed: "current for hosts with keys"
    case .recent: "replaced a moment ago"
    case .former: "its bytes shorten the downloads of newer ones"
    }
  }
}
