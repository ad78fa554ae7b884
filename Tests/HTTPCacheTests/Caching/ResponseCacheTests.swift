import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

@testable import HTTPCache

/// Reading, storing and removing, over every store.
struct ResponseCacheTests {
  typealias Kind = ResponseCacheFixture.Kind

  @Test(arguments: Kind.allCases, [10, 100_000, 2_000_000])
  func whatWasStoredIsReadFromMemoryOrDisk(kind: Kind, count: Int) async throws {
    let fixture = try ResponseCacheFixture(kind)
    let key = try ResponseCacheFixture.key("a")
    var generator = SeededGenerator(seed: 1)
    let bytes = generator.bytes(count)
    try await fixture.store(bytes, for: key)
    #expect((fixture.cache.responseInMemory(for: key) != nil) == (count <= 1 << 18))
    #expect(try await fixture.bytes(key) == bytes)
    try fixture.cache.setMemoryCapacity(0, allowingNone: true)
    #expect(fixture.cache.responseInMemory(for: key) == nil)
    #expect(try await fixture.bytes(key) == bytes)
    #expect(fixture.cache.responseInMemory(for: key) == nil)
  }

  @Test func noMemoryIsRefusedUnlessItIsMeant() async throws {
    let store = InMemoryResponseStore()
    #expect(throws: ResponseCacheError.noMemory) { try ResponseCache(store: store, memoryCapacity: 0) }
    #expect(throws: ResponseCacheError.noMemory) { try ResponseCache(store: store, memoryCapacity: -1) }
    let cache = try ResponseCache(store: store, memoryCapacity: 1_000)
    #expect(throws: ResponseCacheError.noMemory) { try cache.setMemoryCapacity(0) }
    #expect(cache.memoryCapacity == 1_000)
    try cache.setMemoryCapacity(0, allowingNone: true)
    #expect(cache.memoryCapacity == 0)
    _ = try ResponseCache(store: store, memoryCapacity: 0, allowingNone: true)
  }

  @Test(arguments: Kind.allCases)
  func whatIsUsedFromMemoryIsNotTheFirstToLeaveTheDisk(kind: Kind) async throws {
    let fixture = try ResponseCacheFixture(kind)
    let keys = try ["a", "b", "c"].map { try ResponseCacheFixture.key($0) }
    for (number, key) in keys.enumerated() {
      try await fixture.store([UInt8](repeating: UInt8(number), count: 10_000), for: key)
    }
    #expect(fixture.cache.responseInMemory(for: keys[1]) != nil)
    #expect(try await fixture.bytes(keys[0]) != nil)
    try await fixture.cache.setDiskCapacity(22_000)
    #expect(try await fixture.cache.store.list().map(\.key) == [keys[0], keys[1]])
    #expect(try await fixture.cache.usage().disk.entries == 2)
  }

  @Test(arguments: Kind.allCases)
  func whatWasRemovedIsInNeitherTier(kind: Kind) async throws {
    let fixture = try ResponseCacheFixture(kind)
    let cache = fixture.cache
    let (key, other) = (try ResponseCacheFixture.key("a"), try ResponseCacheFixture.key("b", in: .shared))
    let removals: [(String, Bool, () async throws -> Void)] = [
      ("one key", false, { try await cache.remove(for: key) }),
      ("a partition", false, { try await cache.removeAll(of: .private) }),
      ("all", true, { try await cache.removeAll() }),
      ("since", true, { try await cache.removeAll(since: Date(timeIntervalSince1970: 0)) }),
    ]
    for (name, isAll, remove) in removals {
      for key in [key, other] { try await fixture.store([1, 2, 3], for: key) }
      try await remove()
      #expect(try await fixture.bytes(key) == nil, "\(name)")
      #expect(try await fixture.bytes(other) == (isAll ? nil : [1, 2, 3]), "\(name)")
      #expect(try await cache.usage().memory.entries == (isAll ? 0 : 1), "\(name)")
    }
    try await fixture.store([1], for: key)
    try await cache.removeAll(since: Date().addingTimeInterval(60))
    #expect(try await fixture.bytes(key) == [1])
  }

  @Test(arguments: Kind.allCases)
  func aKeptResponseOutlivesEveryEviction(kind: Kind) async throws {
    let fixture = try ResponseCacheFixture(kind)
    let key = try ResponseCacheFixture.key("a")
    #expect(try await fixture.cache.keep(key) == false)
    try await fixture.store([1], for: key)
    #expect(try await fixture.cache.keep(key))
    try await fixture.cache.setDiskCapacity(0)
    #expect(try await fixture.bytes(key) == [1])
    #expect(try await fixture.cache.unkeep(key) == false)
    #expect(try await fixture.bytes(key) == nil)
  }

  @Test(arguments: Kind.allCases)
  func aRegionIsClearedAlone(kind: Kind) async throws {
    let fixture = try ResponseCacheFixture(kind)
    let region = try fixture.cache.region("images", lifetime: .server)
    #expect(try fixture.cache.region("images") === region)
    let caches = [fixture.cache, region, try fixture.cache.region("fonts")]
    let key = try ResponseCacheFixture.key("a")
    for (number, cache) in caches.enumerated() { try await fixture.store([UInt8(number)], for: key, of: cache) }
    for (number, cache) in caches.enumerated() { #expect(try await fixture.bytes(key, of: cache) == [UInt8(number)]) }
    try await region.removeAll()
    #expect(try await fixture.bytes(key, of: region) == nil)
    #expect(try await fixture.bytes(key) == [0])
    try await fixture.cache.removeAll()
    #expect(try await fixture.bytes(key, of: caches[2]) == [2])
    #expect(throws: ResponseCacheError.noRegions) { try region.region("inner") }
  }

  @Test(arguments: Kind.allCases)
  func somethingWithoutAURLIsStoredUnderAName(kind: Kind) async throws {
    let fixture = try ResponseCacheFixture(kind)
    let (cache, now) = (fixture.cache, ResponseCacheFixture.now)
    for bytes in [[1, 2], [UInt8](repeating: 1, count: 100_000), [3]] {
      await cache.store(bytes, forKey: "settings", userInfo: ["version": "\(bytes.count)"], at: now)
      let found = try #require(await cache.response(forKey: "settings"))
      #expect(found.userInfo == ["version": "\(bytes.count)"])
      #expect(try await cache.body(of: found)?.read(at: 0, upTo: .max) == bytes)
    }
    #expect(await cache.response(forKey: "settings", in: .user("anna")) == nil)
    #expect(try await cache.store.list().count == 1)
    await cache.store([9], forKey: "memory", storagePolicy: .memoryOnly, at: now)
    #expect(await cache.response(forKey: "memory")?.bytes == [9])
    #expect(await cache.store([9], forKey: "none", storagePolicy: .notAllowed, at: now) == nil)
    #expect(try await cache.store.list().count == 1)
  }

  @Test func whatCannotBeWrittenIsStoredInMemoryAndWhatIsKeptStays() async throws {
    let fixture = try ResponseCacheFixture()
    let key = try ResponseCacheFixture.key("a")
    try await fixture.store([1], for: key)
    try await fixture.cache.keep(key)
    try FileManager.default.removeItem(atPath: fixture.folder.file("durable"))
    try Data().write(to: URL(fileURLWithPath: fixture.folder.file("durable")))
    #expect(try await fixture.store([2], for: key) != nil)
    #expect(try await fixture.bytes(key) == [2])
    #expect(try await fixture.cache.store.entries(for: key).count == 1)
  }

  @Test func bytesThatAreNotAllThereAreNotStoredAtAll() async throws {
    let fixture = try ResponseCacheFixture()
    let key = try ResponseCacheFixture.key("a")
    let writer = try #require(fixture.cache.writer())
    try writer.append([1, 2, 3])
    #expect(await fixture.cache.commit(writer, ResponseCacheFixture.arrival(key, count: 4)) == nil)
    #expect(try await fixture.bytes(key) == nil)
    #expect(fixture.cache.responseInMemory(for: key) == nil)
  }
}
