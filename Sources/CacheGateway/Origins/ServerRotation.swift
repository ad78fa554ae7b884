/// The turns of the servers of one origin, and the results of their checks; a value.
struct ServerRotation: Hashable, Sendable {
  /// The results of the checks of one server.
  struct Health: Hashable, Sendable {
    /// Failed checks in a row.
    private(set) var failures = 0
    private(set) var isUp = true

    /// - Parameter patience: failures in a row after which it counts as down. It is up again with the first success.
    /// - Returns: `true` if it has come up or gone down with this.
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

  /// The servers that are up, in the order in which a request is to try them. Each is the first in turn.
  mutating func order() -> [Int] {
    let start = next
    next = (next + 1) % max(health.count, 1)
    return health.indices.map { (start + $0) % health.count }.filter { health[$0].isUp }
  }

  /// Notes what a check has found.
  ///
  /// - Returns: `true` if the server has come up or gone down with this.
  mutating func checked(_ index: Int, isGood: Bool) -> Bool {
    guard health.indices.contains(index) else { return false }
    return health[index].note(isGood: isGood, patience: patience)
  }
}
