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

/// A dictionary that keeps its keys in the order of their use. Every operation takes constant time.
///
/// It is inlinable, so that other modules' keys and values cost no look-ups of metadata.
public struct LRUDictionary<Key: Hashable, Value> {
  @usableFromInline
  struct Node {
    @usableFromInline let key: Key
    @usableFromInline var value: Value
    /// Slots of the neighbours; -1 for none.
    @usableFromInline var previous: Int
    @usableFromInline var next: Int

    @inlinable
    init(key: Key, value: Value, previous: Int, next: Int) {
      (self.key, self.value, self.previous, self.next) = (key, value, previous, next)
    }
  }

  @usableFromInline var slots: [Key: Int] = [:]
  /// `nil` where a slot is free.
  @usableFromInline var nodes: [Node?] = []
  @usableFromInline var free: [Int] = []
  /// The slot of the key used last; -1 for none.
  @usableFromInline var first = -1
  /// The slot of the key used least recently; -1 for none.
  @usableFromInline var last = -1

  @inlinable
  public init() {}

  @inlinable
  public var count: Int { slots.count }
  @inlinable
  public var keys: some Collection<Key> { slots.keys }
  @inlinable
  public var values: some Sequence<Value> { nodes.lazy.compactMap { $0?.value } }

  /// The value, without counting that as a use.
  @inlinable
  public subscript(key: Key) -> Value? { slots[key].flatMap { nodes[$0]?.value } }

  /// The value, which counts as used now.
  @inlinable
  public mutating func use(_ key: Key) -> Value? {
    guard let slot = slots[key] else { return nil }
    moveToFront(slot)
    return nodes[slot]?.value
  }

  /// Puts a value in the place of the key's former one. Only a new key counts as used now.
  @inlinable
  public mutating func set(_ value: Value, for key: Key) {
    if let slot = slots[key] {
      nodes[slot]?.value = value
      return
    }
    let node = Node(key: key, value: value, previous: -1, next: first)
    let slot: Int
    if let known = free.popLast() {
      slot = known
      nodes[slot] = node
    } else {
      slot = nodes.count
      nodes.append(node)
    }
    if first >= 0 { nodes[first]?.previous = slot } else { last = slot }
    first = slot
    slots[key] = slot
  }

  @discardableResult
  @inlinable
  public mutating func remove(_ key: Key) -> Value? {
    guard let slot = slots.removeValue(forKey: key) else { return nil }
    unlink(slot)
    defer { nodes[slot] = nil }
    free.append(slot)
    return nodes[slot]?.value
  }

  /// The key used least recently.
  @inlinable
  public var leastRecent: Key? { last >= 0 ? nodes[last]?.key : nil }

  @inlinable
  mutating func moveToFront(_ slot: Int) {
    guard first != slot else { return }
    unlink(slot)
    nodes[slot]?.previous = -1
    nodes[slot]?.next = first
    if first >= 0 { nodes[first]?.previous = slot } else { last = slot }
    first = slot
  }

  @inlinable
  mutating func unlink(_ slot: Int) {
    guard let node = nodes[slot] else { return }
    if node.previous >= 0 { nodes[node.previous]?.next = node.next } else { first = node.next }
    if node.next >= 0 { nodes[node.next]?.previous = node.previous } else { last = node.previous }
  }
}
