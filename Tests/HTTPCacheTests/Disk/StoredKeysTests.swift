import HTTPCaching
import PageTesting
import TestSupport
import Testing

@testable import HTTPCache

/// A store that knows its keys in memory.
struct StoredKeysTests {
  private static func key(_ number: Int) -> CacheKey { CacheKey(named: "\(number)") }

  private static func filter(_ keys: [CacheKey]) -> KeyFilter {
    var filter = KeyFilter(expected: keys.count)
    for key in keys { filter.insert(key) }
    return filter
  }

  /// Waits until everything that the store was to do later is done.
  private static func finish(_ store: ResponseStore) async throws { _ = try await store.queues.write {} }

  @Test("only keys that were added, or read, may be stored")
  func values() {
    let keys = StoredKeys()
    #expect(keys.mayContain(Self.key(1)), "nothing is known yet")
    #expect(!keys.add(Self.key(1)))
    keys.replace(by: Self.filter([Self.key(2)]), foreignChanges: 7)
    #expect(keys.mayContain(Self.key(2)))
    #expect(!keys.mayContain(Self.key(1)))
    #expect(!keys.add(Self.key(1)))
    #expect(keys.mayContain(Self.key(1)))
    #expect(!keys.forget(unlessAt: 7))
    #expect(!keys.mayContain(Self.key(3)))
    #expect(keys.forget(unlessAt: 8))
    #expect(keys.mayContain(Self.key(3)), "others may have stored it")
    #expect(!keys.forget(unlessAt: 9), "they are being read already")
  }

  @Test("with far more keys than were stored, they are read anew")
  func limit() {
    let keys = StoredKeys()
    keys.replace(by: KeyFilter(expected: 0), foreignChanges: 0)
    let due = (0..<20_000).first { keys.add(Self.key($0)) }
    #expect((9_900...10_100).contains(due ?? 0))
  }

  @Test("all keys of a filter are found, and few others")
  func filter() {
    let filter = Self.filter((0..<20_000).map(Self.key))
    #expect((0..<20_000).allSatisfy { filter.mayContain(Self.key($0)) })
    #expect(!filter.isFull)
    // One of 400, as a rule.
    #expect((20_000..<40_000).count { filter.mayContain(Self.key($0)) } < 200)
  }

  @Test("a store finds what was stored before, what it stores, and, when it has looked, what others store")
  func others() async throws {
    let fixture = try ResponseFixture()
    for number in 0..<20 { try await fixture.store("\(number)", for: "\(number)") }
    let store = try fixture.reopened(remembersKeys: true)
    try await Self.finish(store)
    for number in 0..<20 { #expect(try await fixture.text("\(number)", of: store) == "\(number)") }
    try await fixture.store("own", for: "own", of: store)
    #expect(try await fixture.text("own", of: store) == "own")
    try await fixture.store("new", for: "20")
    #expect(try await fixture.text("20", of: store) == nil, "it has not looked yet")
    _ = store.changeCount()
    #expect(try await fixture.text("20", of: store) == "new")
    try await Self.finish(store)
    #expect(try await fixture.text("20", of: store) == "new")
    #expect(!store.keys.mayContain(Self.key(21)))
  }

  @Test("a cache may hold what was stored, and nothing else")
  func cache() async throws {
    let fixture = try ResponseFixture(remembersKeys: true)
    try await Self.finish(try fixture.disk)
    let cache = try ResponseCache(store: fixture.store, memoryCapacity: 1 << 20, policy: CachePolicy(mode: .shared))
    #expect(!cache.mayHold(Self.key(1)))
    try await fixture.store("one", for: "1")
    #expect(cache.mayHold(Self.key(1)) && !cache.mayHold(Self.key(2)))
  }

  @Test("a store finds its responses after its index was exchanged")
  func exchanged() async throws {
    let fixture = try ResponseFixture(remembersKeys: true)
    let store = try fixture.disk
    _ = try await store.setKept(true, for: Self.key(1))
    try await Self.finish(store)
    try Damage.remove(fixture.folder.file("cache"))
    let other = try fixture.reopened()
    try await fixture.store("other", for: "1", of: other)
    _ = store.changeCount()
    #expect(try await fixture.text("1") == "other")
  }
}
