import DequeModule
import Synchronization

/// Values in memory, with a cost each. Those that were asked for again get a second chance when others need the room.
package final class SecondChanceCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Entry {
    let value: Value
    let cost: Int
    var wasUsed = false
  }

  private struct State {
    var entries: [Key: Entry] = [:]
    var order: Deque<Key> = []
    var cost = 0
  }

  /// Of all costs together.
  private let capacity: Int
  private let state = Mutex(State())

  package init(capacity: Int) { self.capacity = capacity }

  package subscript(key: Key) -> Value? {
    state.withLock { state in
      guard let index = state.entries.index(forKey: key) else { return nil }
      if !state.entries.values[index].wasUsed { state.entries.values[index].wasUsed = true }
      return state.entries.values[index].value
    }
  }

  package func insert(_ value: Value, for key: Key, cost: Int) {
    // One entry must not push out all others.
    guard cost <= capacity / 4 else { return }
    state.withLock { state in
      if let former = state.entries.updateValue(Entry(value: value, cost: cost), forKey: key) {
        state.cost -= former.cost
      } else {
        state.order.append(key)
      }
      state.cost += cost
      while state.cost > capacity, let oldest = state.order.popFirst() {
        guard var entry = state.entries.removeValue(forKey: oldest) else { continue }
        if entry.wasUsed {
          entry.wasUsed = false
          state.entries[oldest] = entry
          state.order.append(oldest)
        } else {
          state.cost -= entry.cost
        }
      }
    }
  }

  package func removeAll() {
    state.withLock { $0 = State() }
  }

  package func remove(_ key: Key) {
    state.withLock { state in
      guard let entry = state.entries.removeValue(forKey: key) else { return }
      state.order.removeAll { $0 == key }
      state.cost -= entry.cost
    }
  }
}
