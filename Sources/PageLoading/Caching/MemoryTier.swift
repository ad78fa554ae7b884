import PageCore
import Synchronization

/// Responses in memory, with their bytes; what was used least recently goes first.
final class MemoryTier: Sendable {
  fileprivate struct Node {
    var key: CacheKey
    var variants: [CachedResponse]
    var cost: Int
    var previous: Int
    var next: Int
  }

  fileprivate struct State {
    var slots: [CacheKey: Int] = [:]
    var nodes: [Node] = []
    var free: [Int] = []
    /// The most recently used; -1 for none.
    var first = -1
    var last = -1
    var cost = 0
    var capacity: Int
  }

  private let state: Mutex<State>

  /// - Parameter capacity: in bytes.
  init(capacity: Int) { state = Mutex(State(capacity: capacity)) }

  /// All variants in memory, which count as used now.
  func variants(for key: CacheKey) -> [CachedResponse] {
    state.withLock { state in
      guard let slot = state.slots[key] else { return [] }
      state.moveToFront(slot)
      return state.nodes[slot].variants
    }
  }

  /// Puts a response in the place of those with the given ids.
  ///
  /// - Returns: whether it is small enough: one must not push out all others.
  @discardableResult
  func insert(_ response: CachedResponse, replacing ids: Set<Int64> = []) -> Bool {
    state.withLock { state in
      let key = response.entry.key
      let isSmall = response.cost <= state.capacity / 4
      guard isSmall || state.slots[key] != nil else { return false }
      let slot = state.slots[key] ?? state.add(key)
      state.nodes[slot].variants.removeAll { ids.contains($0.entry.id) || $0.entry.id == response.entry.id }
      if isSmall { state.nodes[slot].variants.append(response) }
      state.settle(slot)
      state.moveToFront(slot)
      state.trim()
      return isSmall
    }
  }

  /// Forgets a key's variants, or only those with these ids.
  func remove(_ key: CacheKey, ids: Set<Int64>? = nil) {
    state.withLock { state in
      guard let slot = state.slots[key] else { return }
      if let ids {
        state.nodes[slot].variants.removeAll { ids.contains($0.entry.id) }
      } else {
        state.nodes[slot].variants = []
      }
      state.settle(slot)
      if state.nodes[slot].variants.isEmpty { state.drop(slot) }
    }
  }

  func removeAll(where condition: (CachedResponse) -> Bool) {
    state.withLock { state in
      for slot in Array(state.slots.values) {
        state.nodes[slot].variants.removeAll(where: condition)
        state.settle(slot)
        if state.nodes[slot].variants.isEmpty { state.drop(slot) }
      }
    }
  }

  var capacity: Int {
    get { state.withLock(\.capacity) }
    set {
      state.withLock { state in
        state.capacity = newValue
        state.trim()
      }
    }
  }

  /// Entries and their bytes.
  var usage: (entries: Int, bytes: Int) {
    state.withLock { state in
      (state.slots.values.reduce(0) { $0 + state.nodes[$1].variants.count }, state.cost)
    }
  }
}

extension MemoryTier.State {
  fileprivate mutating func add(_ key: CacheKey) -> Int {
    let node = MemoryTier.Node(key: key, variants: [], cost: 0, previous: -1, next: first)
    let slot: Int
    if let free = free.popLast() {
      slot = free
      nodes[slot] = node
    } else {
      slot = nodes.count
      nodes.append(node)
    }
    if first >= 0 { nodes[first].previous = slot } else { last = slot }
    first = slot
    slots[key] = slot
    return slot
  }

  fileprivate mutating func moveToFront(_ slot: Int) {
    guard first != slot else { return }
    unlink(slot)
    nodes[slot].previous = -1
    nodes[slot].next = first
    if first >= 0 { nodes[first].previous = slot } else { last = slot }
    first = slot
  }

  private mutating func unlink(_ slot: Int) {
    let (previous, next) = (nodes[slot].previous, nodes[slot].next)
    if previous >= 0 { nodes[previous].next = next } else { first = next }
    if next >= 0 { nodes[next].previous = previous } else { last = previous }
  }

  fileprivate mutating func settle(_ slot: Int) {
    let cost = nodes[slot].variants.reduce(0) { $0 + $1.cost }
    self.cost += cost - nodes[slot].cost
    nodes[slot].cost = cost
  }

  fileprivate mutating func drop(_ slot: Int) {
    unlink(slot)
    cost -= nodes[slot].cost
    slots[nodes[slot].key] = nil
    nodes[slot].variants = []
    nodes[slot].cost = 0
    free.append(slot)
  }

  fileprivate mutating func trim() {
    while cost > capacity, last >= 0 { drop(last) }
  }
}
