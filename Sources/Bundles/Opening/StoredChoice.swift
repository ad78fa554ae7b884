import HTTPTransport

/// The choice among a page's stored bytes when the server has not said which ones it has.
enum StoredChoice {
  /// - Parameters:
  ///   - candidates: the entries of releases, newest first, then the bundle that no manifest lists.
  ///   - consistency: decides whether a release shows before it is complete.
  /// - Returns: `nil` if no candidate has its bytes.
  static func best(among candidates: [StoredCandidate], _ consistency: Consistency) -> StoredCandidate? {
    let stored = candidates.filter { $0.blob != nil }
    return stored.min { rank($0, consistency) < rank($1, consistency) }
  }

  /// Without the server an incomplete release stays incomplete: an incoming release comes before the current one only
  /// if all its files are stored.
  private static func rank(_ candidate: StoredCandidate, _ consistency: Consistency) -> Int {
    switch candidate.place {
    case .incoming: consistency == .bundle && candidate.hasAllFiles ? 0 : 2
    case .current: 1
    case .previous: 3
    case .unlisted: 4
    }
  }
}
