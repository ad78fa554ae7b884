import Testing

@testable import DiskStorage

struct SecondChanceCacheTests {
  @Test func theCapacityIsNeverExceeded() {
    let cache = SecondChanceCache<Int, String>(capacity: 100)
    for number in 0..<20 { cache.insert("", for: number, cost: 20) }
    #expect((0..<20).count { cache[$0] != nil } == 5)
  }

  @Test func whatWasUsedOutlivesWhatWasNot() {
    let cache = SecondChanceCache<Int, String>(capacity: 100)
    for number in 0..<5 { cache.insert("", for: number, cost: 20) }
    #expect(cache[0] != nil)
    for number in 5..<9 { cache.insert("", for: number, cost: 20) }
    #expect(cache[0] != nil)
    #expect(cache[1] == nil)
  }

  @Test func oneLargeEntryDoesNotPushOutAllOthers() {
    let cache = SecondChanceCache<Int, String>(capacity: 100)
    cache.insert("", for: 1, cost: 1)
    cache.insert("", for: 2, cost: 90)
    #expect(cache[1] != nil)
    #expect(cache[2] == nil)
  }

  @Test func aRemovedEntryMakesRoom() {
    let cache = SecondChanceCache<Int, String>(capacity: 40)
    for number in 0..<4 { cache.insert("", for: number, cost: 10) }
    cache.remove(3)
    cache.insert("", for: 4, cost: 10)
    #expect((0..<5).count { cache[$0] != nil } == 4)
  }
}
