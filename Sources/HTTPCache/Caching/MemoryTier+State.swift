import HTTPTransport

/// The list of keys by use: each node knows its neighbours by their places in an array.
extension MemoryTier.State {
  mutating func add(_ key: CacheKey) -> Int {
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

  mutating func moveToFront(_ slot: Int) {
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

  /// Gives a key other variants.
  mutating func set(_ variants: [CachedResponse], of slot: Int) {
    for former in nodes[slot].variants { former.validity.end() }
    nodes[slot].variants = variants.map { $0.validity.isOver ? CachedResponse(again: $0) : $0 }
    for variant in nodes[slot].variants { variant.validity.begin() }
    settle(slot)
  }

  private mutating func settle(_ slot: Int) {
    let cost = nodes[slot].variants.reduce(0) { $0 + $1.cost }
    self.cost += cost - nodes[slot].cost
    nodes[slot].cost = cost
  }

  mutating func drop(_ slot: Int) {
    set([], of: slot)
    unlink(slot)
    slots[nodes[slot].key] = nil
    free.append(slot)
  }

  mutating func trim() {
    while cost > capacity, last >= 0 {
      evictions += nodes[last].variants.count
      drop(last)
    }
  }
}
