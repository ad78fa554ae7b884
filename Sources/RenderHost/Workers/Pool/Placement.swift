/// Which worker gets a page. Pure.
enum Placement {
  struct Candidate: Hashable, Sendable {
    let id: Int
    let pages: Int
    /// Seconds of the entry that has been running longest; 0 for none.
    let busy: Double
    /// Of the memory that it may have.
    let memory: Double
  }

  /// An entry that takes longer may be one that does not end.
  private static let suspicious = 0.25
  /// Of the memory that it may have, a worker beyond this gets no page where another can.
  private static let full = 0.8
  /// How many more pages than the least loaded the worker may have that knows the bundle.
  private static let detour = 8

  /// - Parameter home: the worker that ran the bundle last.
  static func choose(_ candidates: [Candidate], home: Int?) -> Int? {
    let sound = candidates.filter { $0.busy < suspicious && $0.memory < full }
    guard let least = sound.min(by: { ($0.pages, $0.memory, $0.id) < ($1.pages, $1.memory, $1.id) }) else {
      return candidates.min { ($0.busy, $0.memory, $0.id) < ($1.busy, $1.memory, $1.id) }?.id
    }
    if let home = sound.first(where: { $0.id == home }), home.pages <= least.pages + detour { return home.id }
    return least.id
  }
}
