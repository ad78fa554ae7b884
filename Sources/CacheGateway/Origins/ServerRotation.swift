/// The order of an origin's servers, and the results of their checks, as a value.
struct ServerRotation: Hashable, Sendable {
  /// The results of the checks of one server.
  struct Health: Hashable, Sendable {
    /// The number of consecutive failures.
    private(set) var failures = 0
    private(set) var isUp = true

    /// - Parameter patience: the number of consecutive failures after which it counts as down. One success brings it up
    ///   again.
    /// - Returns: `true` if the state has changed.
    mutating func note(isGood: Bool, patience: Int) -> Bool {
      failures = isGood ? 0 : failures + 1
      let wasUp = isUp
      isUp = isGood || isUp && failures < patience
      return isUp != wasUp
    }
  }

  private(set) var health: [Health]
  private var next = 0
  private let patience: Int

  init(count: Int, patience: Int) {
    health = Array(repeating: Health(), count: count)
    self.patience = patience
  }

  /// Returns the servers that are up, in the order in which a request tries them. Each one is first in turn.
  mutating func order() -> [Int] {
    let start = next
    next = (next + 1) % max(health.count, 1)
    return health.indices.map { (start + $0) % health.count }.filter { health[$0].isUp }
  }

  /// Records the result of a check.
  ///
  /// - Returns: `true` if the state of the server has changed.
  mutating func checked(_ index: Int, isGood: Bool) -> Bool {
    guard health.indices.contains(index) else { return false }
    return health[index].note(isGood: isGood, patience: patience)
  }
}
