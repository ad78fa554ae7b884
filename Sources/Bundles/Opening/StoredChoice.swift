import HTTPTransport

/// Which stored bytes of a page are run where the server has not said which it has.
enum StoredChoice {
  /// - Parameters:
  ///   - candidates: newest release first, then what no manifest lists.
  ///   - consistency: whether a release shows before it is complete.
  /// - Returns: `nil` if no candidate has its bytes.
  static func best(among candidates: [StoredCandidate], _ consistency: Consistency) -> StoredCandidate? {
    let stored = candidates.filter { $0.blob != nil }
    return stored.min { rank($0, consistency) < rank($1, consistency) }
  }

  /// Without the server, what is missing of a release stays missing: an incoming release goes before the current one only
  /// if all its files are here.
  private static func rank(_ candidate: StoredCandidate, _ consistency: Consistency) -> Int {
    switch candidate.place {
    case .incoming: consistency == .bundle && candidate.hasAllFiles ? 0 : 2
    case .current: 1
    case .previous: 3
    case .unlisted: 4
    }
  }
}
