import Containers
import HTTPTransport
import Synchronization

/// Responses in memory, with their bytes; what was used least recently goes first.
///
/// Those that were not used since they came may have a limit of their own: responses that are not asked for again then
/// displace none that are.
final class MemoryTier: Sendable {
  private struct Variants {
    var responses: [CachedResponse] = []
    /// The number of the latest use; it grows.
    var use: UInt64 = 0
    /// `false` if the store may have others since another process changed it.
    var isConfirmed = true
    /// In bytes.
    var cost = 0
  }

  private struct State {
    /// The entries that were used since they came, and the others.
    private var used = Segment()
    private var unproven = Segment()
    private var useCount: UInt64 = 0
    var capacity: Int
    /// The bytes of entries that were not used since they came, at most a quarter of the capacity; `nil` for no limit.
    let freshLimit: Int?
    /// Responses that had to make room.
    var evictions = 0
    /// The epochs of keys with the same stripe.
    var epochs = [UInt64](repeating: 0, count: 64)

    init(capacity: Int, freshLimit: Int?) { (self.capacity, self.freshLimit) = (capacity, freshLimit) }

    var cost: Int { used.cost + unproven.cost }

    var keys: [CacheKey] { Array(used.entries.keys) + Array(unproven.entries.keys) }

    /// The number of responses.
    var count: Int {
      used.entries.values.reduce(0) { $0 + $1.responses.count }
        + unproven.entries.values.reduce(0) { $0 + $1.responses.count }
    }

    /// The variants, without counting that as a use.
    subscript(key: CacheKey) -> Variants? { used.entries[key] ?? unproven.entries[key] }

    static func stripe(_ key: CacheKey) -> Int { key.hashValue & 63 }

    func epoch(of key: CacheKey) -> UInt64 { epochs[Self.stripe(key)] }

    /// The variants, which count as used now.
    ///
    /// - Parameter isRequest: `false` if they are only replaced: those that were not used since they came stay so.
    mutating func use(_ key: CacheKey, isRequest: Bool = true) -> Variants? {
      guard var variants = used.use(key) ?? (isRequest ? unproven.remove(key) : unproven.use(key)) else { return nil }
      useCount += 1
      variants.use = useCount
      if isRequest { used.set(variants, for: key) } else { put(variants, for: key) }
      return variants
    }

    mutating func doubt(_ key: CacheKey) {
      guard var variants = self[key], variants.responses.contains(where: \.isStored) else { return }
      variants.isConfirmed = false
      for response in variants.responses { response.validity.end() }
      put(variants, for: key)
    }

    private mutating func put(_ variants: Variants, for key: CacheKey) {
      if used.entries[key] != nil { used.set(variants, for: key) } else { unproven.set(variants, for: key) }
    }

    /// Gives a key other variants; a key without any is removed.
    mutating func set(_ responses: [CachedResponse], for key: CacheKey, isConfirmed: Bool? = nil) {
      var variants = self[key] ?? Variants()
      for former in variants.responses { former.validity.end() }
      variants.responses = responses.map { $0.validity.isOver ? CachedResponse(again: $0) : $0 }
      for response in variants.responses { response.validity.begin() }
      variants.cost = responses.reduce(0) { $0 + $1.cost }
      if let isConfirmed { variants.isConfirmed = isConfirmed }
      guard responses.isEmpty else {
        if variants.use == 0 {
          useCount += 1
          variants.use = useCount
        }
        return put(variants, for: key)
      }
      used.remove(key)
      unproven.remove(key)
    }

    mutating func trim() {
      if let freshLimit {
        while unproven.cost > min(freshLimit, capacity / 4), let key = unproven.entries.leastRecent { evict(key) }
      }
      while cost > capacity, let key = leastRecent { evict(key) }
    }

    private var leastRecent: CacheKey? {
      guard let key = used.entries.leastRecent else { return unproven.entries.leastRecent }
      guard let other = unproven.entries.leastRecent, let use = unproven.entries[other]?.use else { return key }
      return used.entries[key].map { $0.use < use } ?? true ? key : other
    }

    private mutating func evict(_ key: CacheKey) {
      evictions += self[key]?.responses.count ?? 0
      set([], for: key)
    }
  }

  /// Entries in the order of their use, and what they cost together.
  private struct Segment {
    private(set) var entries = LRUDictionary<CacheKey, Variants>()
    private(set) var cost = 0

    mutating func use(_ key: CacheKey) -> Variants? { entries.use(key) }

    mutating func set(_ variants: Variants, for key: CacheKey) {
      cost += variants.cost - (entries[key]?.cost ?? 0)
      entries.set(variants, for: key)
    }

    @discardableResult
    mutating func remove(_ key: CacheKey) -> Variants? {
      let former = entries.remove(key)
      cost -= former?.cost ?? 0
      return former
    }
  }

  private let state: Mutex<State>

  /// - Parameters:
  ///   - capacity: in bytes.
  ///   - freshLimit: the bytes of responses that were not used since they came, at most a quarter of the capacity; `nil`
  ///     for no limit.
  init(capacity: Int, freshLimit: Int? = nil) { state = Mutex(State(capacity: capacity, freshLimit: freshLimit)) }

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
      guard let variants = state[key] else { return [] }
      guard !variants.isConfirmed else { return variants.responses }
      state.set(
        variants.responses.filter { !$0.isStored || entries.contains($0.entry) }, for: key, isConfirmed: true)
      return state[key]?.responses ?? []
    }
  }

  /// A key's variants count as used now.
  func use(_ key: CacheKey) {
    state.withLock { _ = $0.use(key) }
  }

  /// A number for a key that changes with every removal. A response that was read from the store before that may have
  /// been removed.
  func epoch(of key: CacheKey) -> UInt64 { state.withLock { $0.epochs[State.stripe(key)] } }

  /// Puts a response in the place of those with the given ids.
  ///
  /// - Parameters:
  ///   - epoch: of its key when the store was asked; where it is another now, the response is left out.
  ///   - isUse: `true` for one that a request uses, `false` for one that comes.
  /// - Returns: whether it is here now. Large ones are left out: one must not push out all others.
  @discardableResult
  func insert(
    _ response: CachedResponse, replacing ids: Set<Int64> = [], since epoch: UInt64? = nil, isUse: Bool = false
  ) -> Bool {
    state.withLock { state in
      let key = response.key
      let isWelcome = response.cost <= state.capacity / 4 && epoch ?? state.epoch(of: key) == state.epoch(of: key)
      let former = state.use(key, isRequest: isUse)
      guard isWelcome || former != nil else { return false }
      var variants = former?.responses ?? []
      variants.removeAll { ids.contains($0.id) || $0.id == response.id }
      if isWelcome { variants.append(response) }
      // Variants of one key count as one: the oldest of them make room where nothing else can.
      while variants.count > ResponseCache.variantLimit || variants.reduce(0, { $0 + $1.cost }) > state.capacity {
        variants.removeFirst()
        state.evictions += 1
      }
      state.set(variants, for: key)
      if isUse { _ = state.use(key) }
      state.trim()
      return isWelcome
    }
  }

  /// Puts a response in the place of the one with its id, where that is still here.
  func replace(_ response: CachedResponse) {
    state.withLock { state in
      guard var responses = state[response.key]?.responses,
        let index = responses.firstIndex(where: { $0.id == response.id })
      else { return }
      responses[index] = response
      state.set(responses, for: response.key)
      state.trim()
    }
  }

  /// Forgets a key's variants, or only those with these ids.
  func remove(_ key: CacheKey, ids: Set<Int64>? = nil) {
    state.withLock { state in
      state.epochs[State.stripe(key)] &+= 1
      guard let former = state[key]?.responses else { return }
      state.set(ids.map { ids in former.filter { !ids.contains($0.id) } } ?? [], for: key)
    }
  }

  func removeAll(where condition: (CachedResponse) -> Bool) {
    changeAll { condition($0) ? nil : $0 }
  }

  /// Keys that are looked at before others get the lock.
  private static let stepSize = 256

  /// Puts others in the place of responses, or none. A few keys at a time: no caller waits for all of them.
  func changeAll(_ change: (CachedResponse) -> CachedResponse?) {
    forEachKey { state, key in
      guard let former = state[key]?.responses else { return }
      let variants = former.compactMap(change)
      guard !variants.elementsEqual(former, by: ===) else { return }
      state.set(variants, for: key)
    }
  }

  /// Begins a new epoch of all keys, and calls the body with each, a few under one lock.
  private func forEachKey(_ body: (inout State, CacheKey) -> Void) {
    var keys = state.withLock { state in
      for stripe in state.epochs.indices { state.epochs[stripe] &+= 1 }
      return state.keys[...]
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
    state.withLock { ($0.count, $0.cost) }
  }
}

/// Tells if a response in memory is still current: since it was read, no variant of its key was added, replaced or
/// removed.
///
/// It is a separate object, so that a reference to it does not keep the response's bytes in memory.
final class CacheValidity: Sendable {
  // The phases of a response: not in memory yet, in memory and current, no longer current.
  private static let none: UInt8 = 0
  private static let current: UInt8 = 1
  private static let over: UInt8 = 2

  let key: CacheKey
  let id: Int64
  private let phase = Atomic<UInt8>(CacheValidity.none)
  private let usedAt = Atomic<Int64>(.min)

  init(_ key: CacheKey, id: Int64) { (self.key, self.id) = (key, id) }

  var isCurrent: Bool { phase.load(ordering: .acquiring) == Self.current }
  var isOver: Bool { phase.load(ordering: .acquiring) == Self.over }

  func begin() { _ = phase.compareExchange(expected: Self.none, desired: Self.current, ordering: .releasing) }
  func end() { phase.store(Self.over, ordering: .releasing) }

  /// Returns `true` if this use is the first for a while.
  func isNews(at second: Int64, every period: Int64 = 8) -> Bool {
    let last = usedAt.load(ordering: .relaxed)
    guard second &- last >= period || last == .min || second < last else { return false }
    return usedAt.compareExchange(expected: last, desired: second, ordering: .relaxed).exchanged
  }
}
