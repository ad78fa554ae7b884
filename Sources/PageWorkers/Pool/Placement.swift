/// Which worker gets a page. Pure.
package enum Placement {
  struct Candidate: Hashable, Sendable {
    let id: Int
    let pages: Int
    /// What it was called for and has not answered yet.
    let calls: Int
    /// Seconds of the entry that has been running longest; 0 for none.
    let busy: Double
    /// Of the memory that it may have.
    let memory: Double
  }

  /// An entry that takes longer may be one that does not end.
  private static let suspicious = 0.25
  /// Of the memory that it may have, a worker beyond this gets no page: those that are open may need the rest.
  package static let full = 0.8
  /// A worker beyond this lets go of what no page is using.
  static let crowded = 0.6
  /// What a page of a hundred elements takes, its engine with it.
  package static let pageBytes: Int64 = 4 << 20
  /// How many more pages than the least loaded a worker may have that knows the bundle.
  private static let detour = 8

  /// - Parameter warmWorkers: the workers that have run the bundle, and are hot for it.
  /// - Returns: `nil` if no worker has memory for another page.
  static func choose(_ candidates: [Candidate], warmWorkers: Set<Int>) -> Int? {
    let roomy = candidates.filter { $0.memory < full }
    let sound = roomy.filter { $0.busy < suspicious }
    guard let free = least(sound) else {
      return roomy.min { ($0.busy, $0.memory, $0.id) < ($1.busy, $1.memory, $1.id) }?.id
    }
    // Who waits for a hot worker while another is free has gained nothing.
    let hot = sound.filter { warmWorkers.contains($0.id) && $0.calls <= free.calls && $0.pages <= free.pages + detour }
    return (least(hot) ?? free).id
  }

  private static func least(_ candidates: [Candidate]) -> Candidate? {
    candidates.min { ($0.calls, $0.pages, $0.memory, $0.id) < ($1.calls, $1.pages, $1.memory, $1.id) }
  }
}
