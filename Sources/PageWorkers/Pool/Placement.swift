/// Chooses the worker for a page. A pure function.
package enum Placement {
  struct Candidate: Hashable, Sendable {
    let id: Int
    let pages: Int
    /// The number of calls that it has not answered.
    let calls: Int
    /// The seconds of the longest running entry; 0 for none.
    let busy: Double
    /// The used share of its memory limit.
    let memory: Double
  }

  /// An entry of more seconds may be endless.
  private static let suspicious = 0.25
  /// A worker above this share of its memory limit gets no page, since its open pages may need the rest.
  package static let full = 0.8
  /// A worker above this share releases unused memory.
  static let crowded = 0.6
  /// The memory of a page of a hundred elements with its engine, in bytes.
  package static let pageBytes: Int64 = 4 << 20
  /// The number of pages that a worker that ran the bundle may have above the least loaded one.
  private static let detour = 8

  /// - Parameter warmWorkers: the workers that have run the bundle.
  /// - Returns: `nil` if no worker has memory for another page.
  static func choose(_ candidates: [Candidate], warmWorkers: Set<Int>) -> Int? {
    let roomy = candidates.filter { $0.memory < full }
    let sound = roomy.filter { $0.busy < suspicious }
    guard let free = least(sound) else {
      return roomy.min { ($0.busy, $0.memory, $0.id) < ($1.busy, $1.memory, $1.id) }?.id
    }
    // Waiting for a warm worker while another is free gains nothing.
    let hot = sound.filter { warmWorkers.contains($0.id) && $0.calls <= free.calls && $0.pages <= free.pages + detour }
    return (least(hot) ?? free).id
  }

  private static func least(_ candidates: [Candidate]) -> Candidate? {
    candidates.min { ($0.calls, $0.pages, $0.memory, $0.id) < ($1.calls, $1.pages, $1.memory, $1.id) }
  }
}
