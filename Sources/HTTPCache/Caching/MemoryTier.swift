import HTTPTransport
import Synchronization

/// Responses in memory, with their bytes; what was used least recently goes first.
final class MemoryTier: Sendable {
  struct Node {
    var key: CacheKey
    var variants: [CachedResponse]
    /// `false` if the store may have others since another process changed it.
    var isConfirmed = true
    var cost: Int
    var previous: Int
    var next: Int
  }

  struct State {
    var slots: [CacheKey: Int] = [:]
    var nodes: [Node] = []
    var free: [Int] = []
    /// The most recently used; -1 for none.
    var first = -1
    var last = -1
    var cost = 0
    var capacity: Int
    /// Responses that had to make room.
    var evictions = 0
    /// The epochs of keys with the same stripe.
    var epochs = [UInt64](repeating: 0, count: 64)

    static func stripe(_ key: CacheKey) -> Int { key.hashValue & 63 }

    func epoch(of key: CacheKey) -> UInt64 { epochs[Self.stripe(key)] }
  }

  private let state: Mutex<State>

  /// - Parameter capacity: in bytes.
  init(capacity: Int) { state = Mutex(State(capacity: capacity)) }

  /// Returns the variants in memory, which count as used now. Those that ``doubtStored()`` has put in doubt are left out.
  func variants(for key: CacheKey) -> [CachedResponse] {
    state.withLock { state in
      guard let slot = state.slots[key] else { return [] }
      state.moveToFront(slot)
      let node = state.nodes[slot]
      return node.isConfirmed ? node.variants : node.variants.filter { !$0.isStored }
    }
  }

  /// Another process has changed the store: until ``confirm(_:by:)`` no stored response answers from memory.
  func doubtStored() {
    forEachSlot { state, slot in
      guard state.nodes[slot].variants.contains(where: \.isStored) else { return }
      state.nodes[slot].isConfirmed = false
      for variant in state.nodes[slot].variants { variant.validity.end() }
    }
  }

  /// Forgets stored variants of a key that the store does not have like this, if they were in doubt.
  ///
  /// - Parameter entries: the key's, as the store has them now.
  /// - Returns: the variants that are left.
  func confirm(_ key: CacheKey, by entries: [ResponseEntry]) -> [CachedResponse] {
    state.withLock { state in
      guard let slot = state.slots[key] else { return [] }
      guard !state.nodes[slot].isConfirmed else { return state.nodes[slot].variants }
      state.nodes[slot].isConfirmed = true
      state.set(state.nodes[slot].variants.filter { !$0.isStored || entries.contains($0.entry) }, of: slot)
      let left = state.nodes[slot].variants
      if left.isEmpty { state.drop(slot) }
      return left
    }
  }

  /// A key's variants count as used now.
  func use(_ key: CacheKey) {
    state.withLock { state in
      if let slot = state.slots[key] { state.moveToFront(slot) }
    }
  }

  /// Which state of things a key is in: it changes with every removal. What was read from the store before that may
  /// be gone.
  func epoch(of key: CacheKey) -> UInt64 { state.withLock { $0.epochs[State.stripe(key)] } }

  /// Puts a response in the place of those with the given ids.
  ///
  /// - Parameter epoch: of its key when the store was asked; where it is another now, the response is left out.
  /// - Returns: whether it is here now. Large ones are left out: one must not push out all others.
  @discardableResult
  func insert(_ response: CachedResponse, replacing ids: Set<Int64> = [], since epoch: UInt64? = nil) -> Bool {
    state.withLock { state in
      let key = response.entry.key
      let isWelcome = response.cost <= state.capacity / 4 && epoch ?? state.epoch(of: key) == state.epoch(of: key)
      guard isWelcome || state.slots[key] != nil else { return false }
      let slot = state.slots[key] ?? state.add(key)
      var variants = state.nodes[slot].variants
      variants.removeAll { ids.contains($0.entry.id) || $0.entry.id == response.entry.id }
      if isWelcome { variants.append(response) }
      // Variants of one key count as one: the oldest of them make room where nothing else can.
      while variants.reduce(0, { $0 + $1.cost }) > state.capacity {
        variants.removeFirst()
        state.evictions += 1
      }
      state.set(variants, of: slot)
      state.moveToFront(slot)
      if state.nodes[slot].variants.isEmpty { state.drop(slot) }
      state.trim()
      return isWelcome
    }
  }

  /// Puts a response in the place of the one with its id, where that is still here.
  func replace(_ response: CachedResponse) {
    state.withLock { state in
      guard let slot = state.slots[response.entry.key],
        let index = state.nodes[slot].variants.firstIndex(where: { $0.entry.id == response.entry.id })
      else { return }
      var variants = state.nodes[slot].variants
      variants[index] = response
      state.set(variants, of: slot)
      state.trim()
    }
  }

  /// Forgets a key's variants, or only those with these ids.
  func remove(_ key: CacheKey, ids: Set<Int64>? = nil) {
    state.withLock { state in
      state.epochs[State.stripe(key)] &+= 1
      guard let slot = state.slots[key] else { return }
      state.set(ids.map { ids in state.nodes[slot].variants.filter { !ids.contains($0.entry.id) } } ?? [], of: slot)
      if state.nodes[slot].variants.isEmpty { state.drop(slot) }
    }
  }

  func removeAll(where condition: (CachedResponse) -> Bool) {
    changeAll { condition($0) ? nil : $0 }
  }

  /// Keys that are looked at before others get the lock.
  private static let stepSize = 256

  /// Puts others in the place of responses, or none. A few keys at a time: nobody waits for all of them.
  func changeAll(_ change: (CachedResponse) -> CachedResponse?) {
    forEachSlot { state, slot in
      let former = state.nodes[slot].variants
      let variants = former.compactMap(change)
      guard !variants.elementsEqual(former, by: ===) else { return }
      state.set(variants, of: slot)
      if state.nodes[slot].variants.isEmpty { state.drop(slot) }
    }
  }

  /// Begins a new epoch of all keys, and calls the body with the slot of each, a few under one lock.
  private func forEachSlot(_ body: (inout State, Int) -> Void) {
    var keys = state.withLock { state in
      for stripe in state.epochs.indices { state.epochs[stripe] &+= 1 }
      return Array(state.slots.keys)[...]
    }
    while !keys.isEmpty {
      let some = keys.prefix(Self.stepSize)
      keys = keys.dropFirst(some.count)
      state.withLock { state in
        for slot in some.compactMap({ state.slots[$0] }) { body(&state, slot) }
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

  /// Responses that had to make room since it was made.
  var evictions: Int { state.withLock(\.evictions) }

  /// Entries and their bytes.
  var usage: (entries: Int, bytes: Int) {
    state.withLock { state in
      (state.slots.values.reduce(0) { $0 + state.nodes[$1].variants.count }, state.cost)
    }
  }
}
