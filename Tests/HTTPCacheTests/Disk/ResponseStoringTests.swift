import Blobs
import HTTPCache
import HTTPCaching
import HTTPTransport
import HTTPTypes
import PageTesting
import TestSupport
import Testing

/// The behaviour of every implementation.
struct ResponseStoringTests {
  @Test(arguments: ResponseStoreKind.allCases, [0, 10, 5_000, 300_000])
  func whatWasStoredIsFoundWithAllItsBytes(kind: ResponseStoreKind, count: Int) async throws {
    let fixture = try ResponseFixture(kind)
    var generator = SeededGenerator(seed: UInt64(count))
    let bytes = generator.bytes(count)
    let key = CacheKey(try #require(PageURL("http://h/a")))
    let entry = try #require(try await fixture.store(bytes, for: key))
    #expect(try await fixture.store.entries(for: key) == [entry])
    #expect(entry.head == ResponseFixture.head(count))
    #expect(entry.storedAt == 1_000_000)
    #expect(try await fixture.bytes(key) == bytes)
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func aBodyIsReadInPiecesFromAnyPosition(kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind)
    var generator = SeededGenerator(seed: 1)
    for count in [3_000, 700_000] {
      let bytes = generator.bytes(count)
      let entry = try #require(try await fixture.store(bytes, for: CacheKey(named: "\(count)")))
      let body = try #require(try await fixture.store.body(of: entry))
      #expect(body.count == Int64(count))
      #expect(try body.read(at: 1_000, upTo: 500) == Array(bytes[1_000..<1_500]))
      #expect(try body.read(at: Int64(count) - 7, upTo: 500) == Array(bytes.suffix(7)))
      #expect(try body.read(at: Int64(count), upTo: 500).isEmpty)
      #expect(try body.read(at: -1, upTo: 500).isEmpty)
    }
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func aResponseIsInvisibleUntilItIsCommitted(kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind)
    let writer = try fixture.store.writer()
    try writer.append(Array(repeating: 1, count: 100_000))
    #expect(try writer.read(at: 99_990, upTo: 100).count == 10)
    #expect(try await fixture.store.list().isEmpty)
    #expect(try await fixture.store.usage().entries == 0)
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func aResponseWhoseBytesAreNotAllThereIsRefused(kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind)
    await #expect(throws: StoreError.self) {
      try await fixture.store([1, 2, 3], for: CacheKey(named: "a"), extent: .whole(4))
    }
    #expect(try await fixture.store.list().isEmpty)
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func whatWasCommittedCannotGrow(kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind)
    for count in [10, 100_000] {
      let writer = try fixture.store.writer()
      let bytes = [UInt8](repeating: 7, count: count)
      try writer.append(bytes)
      let key = CacheKey(named: "\(count)")
      _ = try await fixture.store.commit(writer, head: ResponseFixture.head(count), for: key, replacing: [])
      #expect(throws: StoreError.self) { try writer.append([8]) }
      #expect(try await fixture.bytes(key) == bytes)
      writer.discard()
      #expect(try writer.read(at: 0, upTo: .max) == bytes, "who still reads it can go on")
    }
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func aNewResponseStandsForThoseItReplaces(kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind)
    let old = try await fixture.store("old", for: "a")
    let new = try #require(try await fixture.store(Array("new".utf8), for: old.key, replacing: [old]))
    #expect(try await fixture.store.entries(for: old.key) == [new])
    #expect(try await fixture.store.body(of: old) == nil)
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func twoWhoStoreTheSameAtOnceLeaveOneResponse(kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind)
    try await fixture.store("first", for: "a")
    let second = try await fixture.store("second", for: "a")
    #expect(try await fixture.store.entries(for: second.key) == [second])
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func variantsLiveBesideEachOther(kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind)
    let key = CacheKey(named: "a")
    for language in ["de", "en"] {
      try await fixture.store(Array(language.utf8), for: key, vary: VaryKey(values: ["accept-language": language]))
    }
    #expect(
      try await fixture.store.entries(for: key).map(\.head.vary.values) == [
        ["accept-language": "de"], ["accept-language": "en"],
      ])
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func aPartDoesNotTakeThePlaceOfTheWhole(kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind)
    let key = CacheKey(named: "a")
    try await fixture.store([1, 2, 3], for: key)
    try await fixture.store([2], for: key, extent: .part(1..<2, of: 3))
    #expect(try await fixture.store.entries(for: key).map(\.head.extent) == [.whole(3), .part(1..<2, of: 3)])
    try await fixture.store([1, 2, 3], for: key)
    #expect(try await fixture.store.entries(for: key).map(\.head.extent) == [.whole(3)])
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func aConfirmedResponseGetsItsNewHeadAndKeepsItsBytes(kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind)
    for count in [10, 10_000] {
      let bytes = [UInt8](repeating: 3, count: count)
      let entry = try #require(try await fixture.store(bytes, for: CacheKey(named: "\(count)")))
      let head = ResponseFixture.head(count, staleAt: 5, fields: [.eTag: "\"new and longer\""])
      let updated = try await fixture.store.update(entry, head: head)
      #expect(updated?.head == head)
      #expect(try await fixture.store.entries(for: entry.key).map(\.head) == [head])
      #expect(try await fixture.bytes(entry.key) == bytes)
      _ = try await fixture.store.remove(.key(entry.key))
      #expect(try await fixture.store.update(entry, head: head) == nil)
      #expect(try await fixture.store.update(entry, head: ResponseFixture.head(count + 1)) == nil)
    }
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func invalidatedKeysAreMarkedAndNoOthers(kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind)
    for name in ["a", "b", "c"] { try await fixture.store(name, for: name) }
    try await fixture.store.invalidate([CacheKey(named: "a"), CacheKey(named: "b"), CacheKey(named: "x")])
    let marked = try await fixture.store.list().filter(\.head.isInvalidated).map(\.key.name)
    #expect(Set(marked) == ["key:a", "key:b"])
    #expect(try await fixture.text("a") == "a")
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func missingBytesAreAMissAndTheEntryGoes(kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind)
    // Long enough for a file.
    let entry = try #require(try await fixture.store([UInt8](repeating: 1, count: 5_000), for: CacheKey(named: "a")))
    if let memory = fixture.store as? InMemoryResponseStore {
      memory.loseBytes(of: entry)
    } else {
      try Damage.remove(try fixture.path(of: entry))
    }
    #expect(try await fixture.store.body(of: entry) == nil)
    #expect(try await fixture.store.list().isEmpty)
    #expect(try await fixture.store.usage().bytes == 0)
    try await fixture.store("again", for: "a")
    #expect(try await fixture.text("a") == "again")
  }
}
