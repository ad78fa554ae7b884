import HTTPCache
import HTTPCaching
import HTTPTransport
import PageTesting
import TestSupport
import Testing

/// How every implementation makes room, and what it keeps.
struct ResponseRoomTests {
  private static func bytes(_ seed: UInt64, _ count: Int = 10_000) -> [UInt8] {
    var generator = SeededGenerator(seed: seed)
    return generator.bytes(count)
  }

  /// A store with so many responses of 10,000 bytes, named by their numbers.
  private static func filled(
    _ kind: ResponseStoreKind, _ count: Int, capacity: Int64 = 20 << 20
  ) async throws -> ResponseFixture {
    let fixture = try ResponseFixture(kind, capacity: capacity)
    for number in 0..<count { try await fixture.store(bytes(UInt64(number)), for: CacheKey(named: "\(number)")) }
    return fixture
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func whatIsLeastRecentlyUsedMakesRoom(kind: ResponseStoreKind) async throws {
    let fixture = try await Self.filled(kind, 3, capacity: 33_000)
    let entries = try await fixture.store.list()
    #expect(entries.count == 3)
    fixture.store.touch([entries[2].id, entries[1].id])
    #expect(try await fixture.names() == ["1", "0", "2"])
    try await fixture.store(Self.bytes(3), for: CacheKey(named: "3"))
    #expect(try await fixture.names() == ["3", "1", "0"])
    #expect(try await fixture.store.usage().bytes <= 33_000)
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func theNewestResponseStaysWhateverTheClockDoes(kind: ResponseStoreKind) async throws {
    let fixture = try await Self.filled(kind, 3, capacity: 33_000)
    fixture.advance(-5_000)
    try await fixture.store(Self.bytes(3), for: CacheKey(named: "3"))
    #expect(try await fixture.names() == ["3", "2", "1"])
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func aResponseLargerThanTheStoreIsNotStoredAndPushesNothingOut(kind: ResponseStoreKind) async throws {
    let fixture = try await Self.filled(kind, 2, capacity: 33_000)
    #expect(try await fixture.store(Self.bytes(9, 40_000), for: CacheKey(named: "large")) == nil)
    #expect(try await fixture.names() == ["1", "0"])
  }

  @Test(
    "marking responses, which makes their heads longer, does not exceed the capacity",
    arguments: ResponseStoreKind.allCases)
  func markingStaysWithinTheCapacity(kind: ResponseStoreKind) async throws {
    let fixture = try await Self.filled(kind, 3)
    let full = try await fixture.store.usage().bytes
    try await fixture.store.setCapacity(full)
    _ = try await fixture.store.markStale(.all, since: HTTPDate(secondsSinceEpoch: 1_000_000))
    #expect(try await fixture.store.usage().bytes <= full)
    let newest = try await fixture.store.entries(for: CacheKey(named: "2"))
    #expect(newest.map(\.head.staleSince) == [HTTPDate(secondsSinceEpoch: 1_000_000)])

    let marked = try await fixture.store.usage().bytes
    try await fixture.store.setCapacity(marked)
    try await fixture.store.invalidate([CacheKey(named: "1"), CacheKey(named: "2")])
    #expect(try await fixture.store.usage().bytes <= marked)

    let entry = try #require(try await fixture.store.entries(for: CacheKey(named: "2")).first)
    let room = try await fixture.store.usage().bytes
    try await fixture.store.setCapacity(room)
    var head = entry.head
    head.fields[.contentType] = String(repeating: "x", count: 2_000)
    _ = try await fixture.store.update(entry, head: head)
    #expect(try await fixture.store.usage().bytes <= room)
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func aSmallerCapacityMakesTheStoreGiveWayAtOnceAndALargerOneHoldsMore(kind: ResponseStoreKind) async throws {
    let fixture = try await Self.filled(kind, 4)
    try await fixture.store.setCapacity(22_000)
    #expect(try await fixture.names() == ["3", "2"])
    #expect(try await fixture.store.usage().capacity == 22_000)
    try await fixture.store.setCapacity(33_000)
    try await fixture.store(Self.bytes(9), for: CacheKey(named: "9"))
    #expect(try await fixture.names() == ["9", "3", "2"])
    try await fixture.store.setCapacity(0)
    #expect(try await fixture.store.usage().bytes == 0)
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func equalBytesUnderTwoKeysCountOnceAndStayWhileOneIsLeft(kind: ResponseStoreKind) async throws {
    let fixture = try await Self.filled(kind, 1)
    let alone = try await fixture.store.usage().bytes
    try await fixture.store(Self.bytes(0), for: CacheKey(named: "same"))
    let both = try await fixture.store.usage()
    #expect(both.entries == 2)
    #expect(both.bytes < alone + 2_000)
    _ = try await fixture.store.remove(.key(CacheKey(named: "0")))
    #expect(try await fixture.bytes(CacheKey(named: "same")) == Self.bytes(0))
    _ = try await fixture.store.remove(.key(CacheKey(named: "same")))
    #expect(try await fixture.store.usage().bytes == 0)
  }

  // MARK: Keeping

  @Test(arguments: ResponseStoreKind.allCases)
  func noEvictionTakesWhatIsKept(kind: ResponseStoreKind) async throws {
    let fixture = try await Self.filled(kind, 2, capacity: 33_000)
    #expect(try await fixture.store.setKept(true, for: CacheKey(named: "0")))
    for number in 2..<9 { try await fixture.store(Self.bytes(UInt64(number)), for: CacheKey(named: "\(number)")) }
    try await fixture.store.setCapacity(0)
    #expect(try await fixture.names() == ["0"])
    #expect(try await fixture.bytes(CacheKey(named: "0")) == Self.bytes(0))
    let usage = try await fixture.store.usage()
    #expect((usage.entries, usage.keptEntries, usage.bytes) == (0, 1, 0))
    #expect(usage.keptBytes >= 10_000)
    _ = try await fixture.store.remove(.stale(at: HTTPDate(secondsSinceEpoch: .max)))
    #expect(try await fixture.names() == ["0"])
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func aNewResponseForAKeptKeyIsKeptAsWell(kind: ResponseStoreKind) async throws {
    let fixture = try await Self.filled(kind, 0)
    #expect(try await fixture.store.setKept(true, for: CacheKey(named: "a")) == false)
    for text in ["first", "second"] {
      #expect(try await fixture.store(text, for: "a").isKept)
      #expect(try await fixture.text("a") == text)
    }
    #expect(try await fixture.store.usage().keptEntries == 1)
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func whatIsKeptMayBeLargerThanTheStore(kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind, capacity: 1_000)
    _ = try await fixture.store.setKept(true, for: CacheKey(named: "a"))
    #expect(try await fixture.store(Self.bytes(1), for: CacheKey(named: "a"))?.isKept == true)
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func whatIsLetGoOfMayBeEvictedAgain(kind: ResponseStoreKind) async throws {
    let fixture = try await Self.filled(kind, 2)
    let key = CacheKey(named: "0")
    _ = try await fixture.store.setKept(true, for: key)
    #expect(try await fixture.store.setKept(false, for: key))
    #expect(try await fixture.bytes(key) == Self.bytes(0))
    #expect(try await fixture.store.usage().keptBytes == 0)
    try await fixture.store.setCapacity(0)
    #expect(try await fixture.names() == [])
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func equalBytesOfWhatIsKeptAndWhatIsNotDoNotDependOnEachOther(kind: ResponseStoreKind) async throws {
    let fixture = try await Self.filled(kind, 1)
    try await fixture.store(Self.bytes(0), for: CacheKey(named: "same"))
    _ = try await fixture.store.setKept(true, for: CacheKey(named: "same"))
    try await fixture.store.setCapacity(0)
    #expect(try await fixture.bytes(CacheKey(named: "same")) == Self.bytes(0))
    #expect(try await fixture.bytes(CacheKey(named: "0")) == nil)
  }

  // MARK: Removing

  @Test(arguments: ResponseStoreKind.allCases)
  func everySelectionRemovesWhatItSaysAndCountsIt(kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind)
    let store = fixture.store
    let (anna, bob) = (CachePartition.user("anna"), CachePartition.user("bob"))
    for partition in [anna, bob, .shared] { try await fixture.store([1], for: CacheKey(named: "a", in: partition)) }
    #expect(try await store.remove(.partition(anna)) == 1)
    #expect(Set(try await store.list().map(\.key.partition)) == [bob, .shared])
    try await fixture.store([1], for: CacheKey(named: "a"))
    #expect(try await store.remove(.partition(.private)) == 1)
    #expect(Set(try await store.list().map(\.key.partition)) == [bob, .shared], "private is not private:…")
    fixture.advance(10)
    let stale = try #require(try await fixture.store([2], for: CacheKey(named: "stale"), staleAt: 5))
    let late = try await fixture.store("late", for: "late")
    #expect(try await store.remove(.stale(at: HTTPDate(secondsSinceEpoch: 6))) == 1)
    #expect(try await store.entries(for: stale.key).isEmpty)
    #expect(try await store.remove(.since(1_000_010)) == 1)
    #expect(try await store.entries(for: late.key).isEmpty)
    let entry = try await fixture.store("one", for: "one")
    #expect(try await store.remove(.entries([entry.id, 77])) == 1)
    #expect(try await store.remove(.entries([])) == 0)
    _ = try await store.setKept(true, for: CacheKey(named: "a", in: bob))
    #expect(try await store.remove(.all) == 2)
    let usage = try await store.usage()
    #expect((usage.entries, usage.bytes, usage.keptEntries, usage.keptBytes) == (0, 0, 0, 0))
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func removingAKeyOrItsPartitionEndsThatItIsKept(kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind)
    for selection in [ResponseSelection.key(CacheKey(named: "a")), .partition(.private), .all] {
      _ = try await fixture.store.setKept(true, for: CacheKey(named: "a"))
      _ = try await fixture.store.remove(selection)
      #expect(try await fixture.store("text", for: "a").isKept == false)
    }
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func onePartitionNeverSeesWhatAnotherHas(kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind)
    let partitions: [CachePartition] = [.shared, .private, .user(""), .user("a"), .user("A"), .user("a b")]
    let url = try #require(PageURL("http://h/a"))
    for (number, partition) in partitions.enumerated() {
      #expect(try await fixture.store.entries(for: CacheKey(url, in: partition)).isEmpty)
      try await fixture.store([UInt8(number)], for: CacheKey(url, in: partition))
    }
    for (number, partition) in partitions.enumerated() {
      #expect(try await fixture.bytes(CacheKey(url, in: partition)) == [UInt8(number)])
    }
    try await fixture.store([1], for: CacheKey(named: "zero\0one"))
    #expect(try await fixture.store.entries(for: CacheKey(named: "zero\0two")).isEmpty)
  }
}
