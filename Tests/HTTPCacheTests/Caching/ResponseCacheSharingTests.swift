import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

@testable import HTTPCache

/// Several caches on one folder, and several tasks in one cache.
struct ResponseCacheSharingTests {
  @Test("a cache looks for the changes of other processes at first, and once a second", arguments: [1, 1 << 62])
  func interval(_ time: UInt64) {
    #expect(OtherProcessChanges.isDue(0, time))
    #expect(!OtherProcessChanges.isDue(time, time))
    #expect(!OtherProcessChanges.isDue(time, time + 999_999_999))
    #expect(OtherProcessChanges.isDue(time, time + 1_000_000_000))
  }

  @Test("a cache looks for changes of other processes again when the former look has expired")
  func changes() {
    let changes = OtherProcessChanges()
    #expect(!changes.areKnown)
    #expect(changes.areNew { 1 } && changes.areKnown)
    #expect(!changes.areNew { 2 }, "it has just looked")
    changes.expire()
    #expect(!changes.areKnown)
    #expect(changes.areNew { 2 })
    changes.expire()
    #expect(!changes.areNew { 2 } && changes.areKnown)
  }

  @Test func whatAnotherProcessRemovesIsServedNoMoreAfterASecond() async throws {
    let fixture = try ResponseCacheFixture()
    let other = try fixture.reopened()
    let keys = try ["a", "b", "c"].map { try ResponseCacheFixture.key($0) }
    for key in keys { try await fixture.store([1], for: key) }
    for key in keys {
      #expect(try await fixture.bytes(key, of: other) == [1])
      #expect(other.responseInMemory(for: key) != nil)
    }
    await other.store([1], forKey: "memory", storagePolicy: .memoryOnly, at: ResponseCacheFixture.now)
    try await fixture.cache.remove(for: keys[0])
    try await fixture.store([2], for: keys[1])
    other.foreignChanges.expire()
    #expect(other.responseInMemory(for: keys[0]) == nil)
    #expect(try await fixture.bytes(keys[0], of: other) == nil)
    #expect(try await fixture.bytes(keys[1], of: other) == [2])
    #expect(await other.response(forKey: "memory") != nil, "that is nobody else's")
  }

  @Test("a response in memory is found at once without a look for the changes of other processes")
  func inMemoryAtOnce() async throws {
    let (fixture, key) = (try ResponseCacheFixture(), try ResponseCacheFixture.key("a"))
    try await fixture.store([1], for: key)
    fixture.cache.foreignChanges.expire()
    #expect(fixture.cache.responseInMemoryAtOnce(for: key, fields: [:]) != nil)
    #expect(!fixture.cache.isWatched)
    #expect(fixture.cache.responseInMemory(for: key) != nil)
    #expect(fixture.cache.isWatched)
  }

  @Test("a write of another process leaves those responses in memory that are still stored as they were")
  func unchangedResponsesStayInMemory() async throws {
    let fixture = try ResponseCacheFixture()
    let other = try fixture.reopened()
    let keys = try ["a", "b", "c"].map { try ResponseCacheFixture.key($0) }
    for key in keys.prefix(2) { try await fixture.store([1], for: key) }
    for key in keys.prefix(2) { #expect(try await fixture.bytes(key, of: other) == [1]) }
    let held = try #require(other.responseInMemory(for: keys[0]))
    try await fixture.store([3], for: keys[2])
    await fixture.cache.invalidate([keys[1]])
    other.foreignChanges.expire()
    #expect(other.responseInMemory(for: keys[0]) == nil, "nobody has looked whether it is still stored")
    #expect(!held.validity.isCurrent)
    #expect(await other.responses(for: keys[0]).map(\.bytes) == [[1]], "its bytes were not read again")
    #expect(other.responseInMemory(for: keys[0])?.validity.isCurrent == true)
    let changed = await other.responses(for: keys[1])
    #expect(changed.map(\.bytes) == [nil])
    #expect(changed.map(\.stored.isInvalidated) == [true])
  }

  @Test func whatIsOnlyReadElsewhereLeavesTheMemoryAlone() async throws {
    let fixture = try ResponseCacheFixture()
    let other = try fixture.reopened()
    let key = try ResponseCacheFixture.key("a")
    try await fixture.store([1], for: key)
    #expect(try await fixture.bytes(key, of: other) == [1])
    for cache in [fixture.cache, other] { cache.foreignChanges.expire() }
    #expect(try await fixture.bytes(key, of: other) == [1])
    #expect(try await fixture.bytes(key) == [1])
    fixture.cache.store.touch([1])
    other.tellUses()
    for cache in [fixture.cache, other] { cache.foreignChanges.expire() }
    #expect(other.responseInMemory(for: key) != nil)
    #expect(fixture.cache.responseInMemory(for: key) != nil)
  }

  @Test func twoCachesOverOneFolderWorkAtOnceWithoutErrors() async throws {
    let fixture = try ResponseCacheFixture()
    let other = try fixture.reopened()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<6 {
        let cache = task % 2 == 0 ? fixture.cache : other
        group.addTask {
          var generator = SeededGenerator(seed: UInt64(task))
          for _ in 0..<60 {
            let number = Int.random(in: 0..<6, using: &generator)
            let key = try ResponseCacheFixture.key("\(number)")
            if Int.random(in: 0..<6, using: &generator) == 0 { try await cache.remove(for: key) }
            let bytes = [UInt8](repeating: UInt8(number), count: 9_000)
            #expect(try await fixture.store(bytes, for: key, of: cache)?.entry.id ?? -1 > 0, "it went to disk")
            let found = try await fixture.bytes(key, of: cache)
            #expect(found == nil || found == bytes)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await fixture.cache.store.list().count <= 6)
  }

  @Test(arguments: [true, false])
  func whatIsRemovedOrMarkedWhileItIsReadDoesNotComeBack(isRemoved: Bool) async throws {
    let held = HeldStore(InMemoryResponseStore())
    let cache = try ResponseCache(store: held)
    let fixture = try ResponseCacheFixture(.memory)
    let key = try ResponseCacheFixture.key("a")
    try await fixture.store([1], for: key, of: cache)
    try cache.setMemoryCapacity(0, allowingNone: true)
    try cache.setMemoryCapacity(1 << 20)
    held.afterBody {
      if isRemoved { try? await cache.remove(for: key) } else { await cache.invalidate([key]) }
    }
    #expect(try await fixture.bytes(key, of: cache) == [1], "it was there when it was asked for")
    #expect(cache.responseInMemory(for: key) == nil)
    let left = await cache.responses(for: key)
    #expect(left.map(\.stored.isInvalidated) == (isRemoved ? [] : [true]))
  }

  @Test(arguments: ResponseCacheFixture.Kind.allCases)
  func aPrivateAnswerIsNeverFoundUnderAnotherPartition(kind: ResponseCacheFixture.Kind) async throws {
    let fixture = try ResponseCacheFixture(kind)
    let partitions: [CachePartition] = [.shared, .private, .user("anna"), .user("bob")]
    for (number, partition) in partitions.enumerated() {
      let key = try ResponseCacheFixture.key("a", in: partition)
      #expect(await fixture.cache.responses(for: key).isEmpty)
      try await fixture.store([UInt8(number)], for: key)
    }
    for capacity in [1 << 20, 0] {
      try fixture.cache.setMemoryCapacity(capacity, allowingNone: true)
      for (number, partition) in partitions.enumerated() {
        #expect(try await fixture.bytes(try ResponseCacheFixture.key("a", in: partition)) == [UInt8(number)])
      }
    }
    try await fixture.cache.removeAll(of: .user("anna"))
    #expect(try await fixture.bytes(try ResponseCacheFixture.key("a", in: .user("anna"))) == nil)
    #expect(try await fixture.bytes(try ResponseCacheFixture.key("a", in: .user("bob"))) == [3])
  }

  @Test(arguments: ResponseCacheFixture.Kind.allCases)
  func variantsAreChosenByTheFieldsOfTheRequest(kind: ResponseCacheFixture.Kind) async throws {
    let fixture = try ResponseCacheFixture(kind)
    let key = try ResponseCacheFixture.key("a")
    for (number, language) in ["de", "en"].enumerated() {
      try await fixture.store(
        [UInt8(number)], for: key, fields: [.vary: "Accept-Language"], request: [.acceptLanguage: language])
    }
    for capacity in [1 << 20, 0] {
      try fixture.cache.setMemoryCapacity(capacity, allowingNone: true)
      #expect(try await fixture.bytes(key, request: [.acceptLanguage: "de"]) == [0])
      #expect(try await fixture.bytes(key, request: [.acceptLanguage: "en"]) == [1])
      #expect(try await fixture.bytes(key, request: [.acceptLanguage: "fr"]) == nil)
    }
    let unmatchable = try await fixture.store([1], for: try ResponseCacheFixture.key("b"), fields: [.vary: "*"])
    #expect(unmatchable == nil)
  }
}
