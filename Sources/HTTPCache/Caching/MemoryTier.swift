import Containers
import HTTPTransport
import Synchronization

/// Responses in memory, with their bytes; what was used least recently goes first.
final class MemoryTier: Sendable {
  private struct Variants {
    var responses: [CachedResponse] = []
    /// `false` if the store may have others since another process changed it.
    var isConfirmed = true
    /// In bytes.
    var cost = 0
  }

  private struct State {
    private(set) var entries = LRUDictionary<CacheKey, Variants>()
    private(set) var cost = 0
    var capacity: Int
    /// Responses that had to make room.
    var evictions = 0
    /// The epochs of keys with the same stripe.
    var epochs = [UInt64](repeating: 0, count: 64)

    init(capacity: Int) { self.capacity = capacity }

    static func stripe(_ key: CacheKey) -> Int { key.hashValue & 63 }

    func epoch(of key: CacheKey) -> UInt64 { epochs[Self.stripe(key)] }

    /// The variants, which count as used now.
    mutating func use(_ key: CacheKey) -> Variants? { entries.use(key) }

    mutating func doubt(_ key: CacheKey) {
      guard var variants = entries[key], variants.responses.contains(where: \.isStored) else { return }
      variants.isConfirmed = false
      for response in variants.responses { response.validity.end() }
      entries.set(variants, for: key)
    }

    /// Gives a key other variants; a key without any is removed.
    mutating func set(_ responses: [CachedResponse], for key: CacheKey, isConfirmed: Bool? = nil) {
      var variants = entries[key] ?? Variants()
      let formerCost = variants.cost
      for former in variants.responses { former.validity.end() }
      variants.responses = responses.map { $0.validity.isOver ? CachedResponse(again: $0) : $0 }
      for response in variants.responses { response.validity.begin() }
      variants.cost = responses.reduce(0) { $0 + $1.cost }
      cost += variants.cost - formerCost
      if let isConfirmed { variants.isConfirmed = isConfirmed }
      if responses.isEmpty { entries.remove(key) } else { entries.set(variants, for: key) }
    }

    mutating func trim() {
      while cost > capacity, let key = entries.leastRecent {
        evictions += entries[key]?.responses.count ?? 0
        set([], for: key)
      }
    }
  }

  private let state: Mutex<State>

  /// - Parameter capacity: in bytes.
  init(capacity: Int) { state = Mutex(State(capacity: capacity)) }

  /// Returns the variants in memory, which count as used now. Those that ``doubtStored()`` has put in doubt are left out.
  func variants(for key: CacheKey) -> [CachedResponse] {
    state.withLock { state in
      guard let variants = state.use(key) else { return [] }
      return variants.isConfirmed ? variants.responses : variants.responses.filter { !$0.isStored }
    }
  }

  /// Another process has changed the store: until ``confirm(_:by:)`` no stored response answers from memory.
  func doubtStored() {
    forEachKey { state, key in state.doubt(key) }
  }

  /// Forgets stored variants of a key that the store does not have like this, if they were in doubt.
  ///
  /// - Parameter entries: the key's, as the store has them now.
  /// - Returns: the variants that are left.
  func confirm(_ key: CacheKey, by entries: [ResponseEntry]) -> [CachedResponse] {
    state.withLock { state in
      guard let variants = state.entries[key] else { return [] }
      guard !variants.isConfirmed else { return variants.responses }
      state.set(
        variants.responses.filter { !$0.isStored || entries.contains($0.entry) }, for: key, isConfirmed: true)
      return state.entries[key]?.responses ?? []
    }
  }

  /// A key's variants count as used now.
  func use(_ key: CacheKey) {
    state.withLock { _ = $0.use(key) }
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
      let former = state.use(key)
      guard isWelcome || former != nil else { return false }
      var variants = former?.responses ?? []
      variants.removeAll { ids.contains($0.entry.id) || $0.entry.id == response.entry.id }
      if isWelcome { variants.append(response) }
      // Variants of one key count as one: the oldest of them make room where nothing else can.
      while variants.reduce(0, { $0 + $1.cost }) > state.capacity {
        variants.removeFirst()
        state.evictions += 1
      }
      state.set(variants, for: key)
      state.trim()
      return isWelcome
    }
  }

  /// Puts a response in the place of the one with its id, where that is still here.
  func replace(_ response: CachedResponse) {
    state.withLock { state in
      guard var responses = state.entries[response.entry.key]?.responses,
        let index = responses.firstIndex(where: { $0.entry.id == response.entry.id })
      else { return }
      responses[index] = response
      state.set(responses, for: response.entry.key)
      state.trim()
    }
  }

  /// Forgets a key's variants, or only those with these ids.
  func remove(_ key: CacheKey, ids: Set<Int64>? = nil) {
    state.withLock { state in
      state.epochs[State.stripe(key)] &+= 1
      guard let former = state.entries[key]?.responses else { return }
      state.set(ids.map { ids in former.filter { !ids.contains($0.entry.id) } } ?? [], for: key)
    }
  }

  func removeAll(where condition: (CachedResponse) -> Bool) {
    changeAll { condition($0) ? nil : $0 }
  }

  /// Keys that are looked at before others get the lock.
  private static let stepSize = 256

  /// Puts others in the place of responses, or none. A few keys at a time: nobody waits for all of them.
  func changeAll(_ change: (CachedResponse) -> CachedResponse?) {
    forEachKey { state, key in
      guard let former = state.entries[key]?.responses else { return }
      let variants = former.compactMap(change)
      guard !variants.elementsEqual(former, by: ===) else { return }
      state.set(variants, for: key)
    }
  }

  /// Begins a new epoch of all keys, and calls the body with each, a few under one lock.
  private func forEachKey(_ body: (inout State, CacheKey) -> Void) {
    var keys = state.withLock { state in
      for stripe in state.epochs.indices { state.epochs[stripe] &+= 1 }
      return Array(state.entries.keys)[...]
    }
    while !keys.isEmpty {
      let some = keys.prefix(Self.stepSize)
      keys = keys.dropFirst(some.count)
      state.withLock { state in
        for key in some { body(&state, key) }
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
      (state.entries.values.reduce(0) { $0 + $1.responses.count }, state.cost)
    }
  }
}
