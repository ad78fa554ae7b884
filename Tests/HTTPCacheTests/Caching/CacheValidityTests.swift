import HTTPTransport
import Testing

@testable import HTTPCache

/// How long what was read of a key in memory is what it has to give.
struct CacheValidityTests {
  private let tier = MemoryTier(capacity: 20_000)
  private let a = CacheKey(named: "a")
  private let b = CacheKey(named: "b")

  /// The validity that the tier gives now, which holds.
  private func read(_ key: CacheKey) throws -> CacheValidity {
    let validity = try #require(tier.variants(for: key).last?.validity)
    #expect(validity.isCurrent)
    return validity
  }

  @Test func whatWasNeverInMemoryDoesNotHold() {
    #expect(!MemoryTierFixture.response(1, a).validity.isCurrent)
  }

  @Test func itHoldsUntilItsKeyIsChanged() throws {
    let changes: [(String, () -> Void)] = [
      ("joined by a variant", { tier.insert(MemoryTierFixture.response(2, a)) }),
      ("replaced", { tier.insert(MemoryTierFixture.response(3, a), replacing: [1, 2]) }),
      ("brought up to date", { tier.replace(MemoryTierFixture.response(3, a)) }),
      ("put in once more", { tier.insert(MemoryTierFixture.response(3, a)) }),
      ("removed", { tier.remove(a) }),
      ("removed by its id", { tier.remove(a, ids: [1]) }),
      ("removed with others", { tier.removeAll { $0.entry.key == a } }),
      ("pushed out", { tier.capacity = 0 }),
    ]
    for (name, change) in changes {
      tier.capacity = 20_000
      if tier.variants(for: a).isEmpty { tier.insert(MemoryTierFixture.response(1, a)) }
      let before = try read(a)
      tier.insert(MemoryTierFixture.response(9, b))
      tier.removeAll { $0.entry.key == b }
      #expect(before.isCurrent)
      change()
      #expect(!before.isCurrent, "\(name)")
    }
  }

  @Test func whatStaysOfAKeyHoldsAnew() throws {
    tier.insert(MemoryTierFixture.response(1, a))
    tier.insert(MemoryTierFixture.response(2, a))
    tier.remove(a, ids: [2])
    _ = try read(a)
    let former = MemoryTierFixture.response(5, b)
    tier.insert(former)
    tier.remove(b)
    tier.insert(former)
    #expect(!former.validity.isCurrent)
    _ = try read(b)
  }

  @Test("an answer that is given again has its bytes for as long as they are in memory, and does not keep them there")
  func bytesInMemory() throws {
    let cache = try ResponseCache(store: NoResponseStore(), memoryCapacity: 20_000)
    cache.memory.insert(MemoryTierFixture.response(1, a))
    let replay = {
      cache.memory.variants(for: a).last.map {
        ReplayableResponse(
          $0, among: [$0], in: cache, made: ResponseCacheFixture.now, remaining: 60, now: { ResponseCacheFixture.now },
          storedUse: { _ in .unlimited })
      }
    }
    let first = try #require(replay())
    #expect(first.bytes == [UInt8](repeating: 0, count: 10))
    cache.memory.remove(a)
    #expect(first.bytes == nil)
  }

  @Test func aUseIsNewsOnceInAWhile() {
    let validity = MemoryTierFixture.response(1, a).validity
    #expect([100, 100, 107, 108, 109, 116].map { validity.isNews(at: $0) } == [true, false, false, true, false, true])
    #expect(validity.isNews(at: 50), "the clock was set back")
  }
}
