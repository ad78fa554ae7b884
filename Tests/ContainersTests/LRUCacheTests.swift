import Testing

@testable import Containers

struct LRUCacheTests {
  @Test("the capacity is never exceeded")
  func capacity() {
    let cache = LRUCache<Int, String>(capacity: 100)
    for number in 0..<20 { cache.insert("", for: number, cost: 20) }
    #expect((0..<20).count { cache[$0] != nil } == 5)
  }

  @Test("an entry that was used outlives those that were not")
  func use() {
    let cache = LRUCache<Int, String>(capacity: 100)
    for number in 0..<5 { cache.insert("", for: number, cost: 20) }
    #expect(cache[0] != nil)
    for number in 5..<9 { cache.insert("", for: number, cost: 20) }
    #expect(cache[0] != nil)
    #expect(cache[1] == nil)
  }

  @Test("one large entry does not push out all others")
  func largeEntries() {
    let cache = LRUCache<Int, String>(capacity: 100)
    cache.insert("", for: 1, cost: 1)
    cache.insert("", for: 2, cost: 90)
    #expect(cache[1] != nil)
    #expect(cache[2] == nil)
  }

  @Test("a removed entry makes room")
  func removal() {
    let cache = LRUCache<Int, String>(capacity: 40)
    for number in 0..<4 { cache.insert("", for: number, cost: 10) }
    cache.remove(3)
    cache.insert("", for: 4, cost: 10)
    #expect((0..<5).count { cache[$0] != nil } == 4)
  }

  @Test("the entry used least recently goes first, whatever was removed or replaced meanwhile")
  func order() {
    var dictionary = LRUDictionary<Int, String>()
    for key in 0..<5 { dictionary.set("\(key)", for: key) }
    #expect(dictionary.use(0) == "0")
    #expect(dictionary.remove(2) == "2")
    dictionary.set("new", for: 1)
    dictionary.set("5", for: 5)
    var order: [Int] = []
    while let key = dictionary.leastRecent {
      order.append(key)
      dictionary.remove(key)
    }
    #expect(order == [1, 3, 4, 0, 5])
    #expect(dictionary.count == 0)
  }
}
