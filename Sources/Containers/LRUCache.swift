import Synchronization

/// Values in memory, with a cost each. Those used least recently make room for others.
public final class LRUCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline
  struct State {
    @usableFromInline var entries = LRUDictionary<Key, (value: Value, cost: Int)>()
    @usableFromInline var cost = 0

    @inlinable
    init() {}

    @inlinable
    mutating func remove(_ key: Key) {
      if let entry = entries.remove(key) { cost -= entry.cost }
    }
  }

  @usableFromInline let capacity: Int
  @usableFromInline let state = Mutex(State())

  /// - Parameter capacity: the most that all costs together come to.
  @inlinable
  public init(capacity: Int) { self.capacity = capacity }

  /// The value, which counts as used now.
  @inlinable
  public subscript(key: Key) -> Value? { state.withLock { $0.entries.use(key)?.value } }

  /// Puts a value in the place of the key's former one. A cost of more than a quarter of the capacity is refused, since
  /// one entry must not push out all others.
  @inlinable
  public func insert(_ value: Value, for key: Key, cost: Int) {
    guard cost <= capacity / 4 else { return }
    state.withLock { state in
      state.remove(key)
      state.entries.set((value, cost), for: key)
      state.cost += cost
      while state.cost > capacity, let key = state.entries.leastRecent { state.remove(key) }
    }
  }

  @inlinable
  public func remove(_ key: Key) { state.withLock { $0.remove(key) } }

  @inlinable
  public func removeAll() { state.withLock { $0 = State() } }
}
