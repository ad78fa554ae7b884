import HTTPCaching
import HTTPTransport
import PageTesting
import Testing

@testable import HTTPCache

/// The memory tier against a list that is searched from end to end.
struct ResponseCacheMemoryTests {
  /// The simplest implementation of the memory tier.
  private struct Reference {
    struct Place {
      let key: CacheKey
      var variants: [CachedResponse]
      var cost: Int { variants.reduce(0) { $0 + $1.cost } }
    }

    /// The most recently used first.
    var places: [Place] = []
    var capacity: Int

    var cost: Int { places.reduce(0) { $0 + $1.cost } }

    mutating func use(_ key: CacheKey) -> [CachedResponse] {
      guard let index = places.firstIndex(where: { $0.key == key }) else { return [] }
      places.insert(places.remove(at: index), at: 0)
      return places[0].variants
    }

    mutating func insert(_ response: CachedResponse, replacing ids: Set<Int64>) -> Bool {
      let isSmall = response.cost <= capacity / 4
      var variants = use(response.entry.key)
      variants.removeAll { ids.contains($0.entry.id) || $0.entry.id == response.entry.id }
      if isSmall { variants.append(response) }
      while variants.reduce(0, { $0 + $1.cost }) > capacity { variants.removeFirst() }
      places.removeAll { $0.key == response.entry.key }
      if !variants.isEmpty { places.insert(Place(key: response.entry.key, variants: variants), at: 0) }
      trim()
      return isSmall
    }

    mutating func remove(where condition: (CachedResponse) -> Bool) {
      for index in places.indices { places[index].variants.removeAll(where: condition) }
      places.removeAll { $0.variants.isEmpty }
    }

    mutating func trim() { while cost > capacity { places.removeLast() } }
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func itDoesWhatAPlainListDoes(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var reference = Reference(capacity: 40_000)
    let tier = MemoryTier(capacity: 40_000)
    let keys = (0..<12).map { CacheKey(named: "\($0)") }
    var faults: [String] = []
    func check(_ isRight: Bool, _ what: @autoclosure () -> String) { if !isRight { faults.append(what()) } }
    for step in 0..<3_000 {
      let key = keys[Int.random(in: 0..<12, using: &generator)]
      let id = Int64.random(in: 1...60, using: &generator)
      switch Int.random(in: 0..<100, using: &generator) {
      case 0..<50:
        let response = MemoryTierFixture.response(id, key, count: .random(in: 0..<12_000, using: &generator))
        let ids: Set<Int64> = Bool.random(using: &generator) ? [id + 1, id + 2] : []
        check(tier.insert(response, replacing: ids) == reference.insert(response, replacing: ids), "insert at \(step)")
      case 50..<85:
        check(tier.variants(for: key).map(\.entry.id) == reference.use(key).map(\.entry.id), "variants at \(step)")
      case 85..<90:
        tier.remove(key)
        reference.remove { $0.entry.key == key }
      case 90..<95:
        tier.remove(key, ids: [id, id + 1, id + 2])
        reference.remove { $0.entry.key == key && id...(id + 2) ~= $0.entry.id }
      case 95:
        tier.removeAll { $0.entry.id % 5 == id % 5 }
        reference.remove { $0.entry.id % 5 == id % 5 }
      default:
        let capacity = Int.random(in: 0..<60_000, using: &generator)
        tier.capacity = capacity
        reference.capacity = capacity
        reference.trim()
      }
      let usage = tier.usage
      check(usage.bytes <= tier.capacity, "capacity at \(step)")
      check(usage.bytes == reference.cost, "cost at \(step)")
      check(usage.entries == reference.places.reduce(0) { $0 + $1.variants.count }, "entries at \(step)")
    }
    // The order as well: what goes first when there is less and less room.
    while !reference.places.isEmpty {
      reference.capacity = max(0, reference.cost - 1)
      tier.capacity = reference.capacity
      reference.trim()
      check(tier.usage.bytes == reference.cost, "order with \(reference.capacity) left")
    }
    #expect(faults.isEmpty)
  }

  @Test func responsesThatNobodyAsksForAgainDisplaceNoOthers() {
    let cost = MemoryTierFixture.response(1, CacheKey(named: "a"), count: 1_000).cost
    // The others' names are a little longer.
    let tier = MemoryTier(capacity: (cost + 8) * 16, freshLimit: (cost + 8) * 4)
    let key = { (number: Int64) in CacheKey(named: "\(number)") }
    func has(_ number: Int64) -> Bool { tier.usage.entries > 0 && !tier.variants(for: key(number)).isEmpty }
    for number in 1...12 as ClosedRange<Int64> {
      #expect(tier.insert(MemoryTierFixture.response(number, key(number), count: 1_000)))
      if number <= 6 { #expect(has(number)) }
    }
    for number in 100...1_000 as ClosedRange<Int64> {
      #expect(tier.insert(MemoryTierFixture.response(number, key(number), count: 1_000)))
      // It is there for those who have waited for it.
      #expect(tier.usage.entries <= 6 + 4)
    }
    #expect(tier.evictions == 6 + 901 - 4)
    for number in 1...6 as ClosedRange<Int64> { #expect(has(number), "\(number)") }
    #expect(!has(7))
    #expect([996, 997, 1_000].map(has) == [false, true, true])
  }

  @Test func aResponseThatIsReplacedIsNotAskedForAgain() {
    let tier = MemoryTier(capacity: 16_000, freshLimit: 1 << 20)
    let (often, other) = (CacheKey(named: "often"), CacheKey(named: "other"))
    for id in 1...20 as ClosedRange<Int64> {
      #expect(tier.insert(MemoryTierFixture.response(id, often, count: 1_000), replacing: [id - 1]))
    }
    #expect(tier.usage.entries == 1)
    // One that was read from the disk for a request counts as asked for.
    #expect(tier.insert(MemoryTierFixture.response(100, other, count: 1_000), isUse: true))
    for id in 200...300 as ClosedRange<Int64> {
      #expect(tier.insert(MemoryTierFixture.response(id, CacheKey(named: "\(id)"), count: 1_000)))
    }
    #expect(tier.variants(for: often).isEmpty && !tier.variants(for: other).isEmpty)
  }

  @Test func manyVariantsOfOneKeyNeverPushOutTheNewest() {
    let tier = MemoryTier(capacity: 10_000)
    for id in 1...20 as ClosedRange<Int64> {
      #expect(tier.insert(MemoryTierFixture.response(id, CacheKey(named: "a"), count: 1_000)))
      #expect(tier.variants(for: CacheKey(named: "a")).last?.entry.id == id)
      #expect(tier.usage.bytes <= 10_000)
    }
  }

  @Test func whatWasReadBeforeARemovalIsNotPutBack() {
    let tier = MemoryTier(capacity: 10_000)
    let (a, b) = (CacheKey(named: "a"), CacheKey(named: "b"))
    for forget in [{ tier.remove(a) }, { tier.remove(a, ids: [1]) }, { tier.removeAll { $0.entry.key == a } }] {
      let epoch = tier.epoch(of: a)
      #expect(tier.insert(MemoryTierFixture.response(1, a), since: epoch))
      forget()
      #expect(!tier.insert(MemoryTierFixture.response(1, a), since: epoch))
      #expect(tier.variants(for: a).isEmpty)
    }
    tier.replace(MemoryTierFixture.response(1, a))
    #expect(tier.variants(for: a).isEmpty)
    tier.insert(MemoryTierFixture.response(2, b))
    tier.replace(MemoryTierFixture.response(2, b, count: 500))
    #expect(tier.variants(for: b).first?.bytes?.count == 500)
  }
}
