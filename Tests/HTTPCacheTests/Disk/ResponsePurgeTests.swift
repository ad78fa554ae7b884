import Foundation
import GRDB
import HTTPCaching
import HTTPTransport
import PageTesting
import TestSupport
import Testing

@testable import HTTPCache

/// Removing and marking by prefix and by tag.
struct ResponsePurgeTests {
  private static let time = HTTPDate(secondsSinceEpoch: 2_000_000)

  private static func marked(_ store: any ResponseStoring) async throws -> Set<String> {
    Set(try await store.list().filter { $0.head.staleSince == time }.map { String($0.key.name.dropFirst(4)) })
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func aPrefixMeansNamesThatBeginSoInItsPartition(kind: ResponseStoreKind) async throws {
    let names = ["a", "a%b", "a_b", "aXb", "a\u{10FFFF}", "b", "é", "e"]
    for (prefix, expected) in [
      ("a%", ["a%b"]), ("a_", ["a_b"]), ("a", ["a", "a%b", "a_b", "aXb", "a\u{10FFFF}"]), ("", names), ("c", []),
      ("é", ["é"]),
    ] {
      let fixture = try ResponseFixture(kind)
      for name in names { try await fixture.store(name, for: name) }
      try await fixture.store([1], for: CacheKey(named: "a", in: .shared))
      #expect(
        try await fixture.store.markStale(.prefix("key:" + prefix, in: .private), since: Self.time) == expected.count)
      #expect(try await Self.marked(fixture.store) == Set(expected))
      #expect(try await fixture.store.remove(.prefix("key:" + prefix, in: .private)) == expected.count)
      #expect(
        Set(try await fixture.names()) == Set(names).subtracting(expected).union(["a"]), "the other partition's stays")
    }
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func aTagMeansAllThatHaveItAndNoOthers(kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind)
    for (name, tags) in [("a", "x"), ("b", "y, x"), ("c", "y,z"), ("d", "")] {
      try await fixture.store(Array(name.utf8), for: CacheKey(named: name), tags: tags)
    }
    try await fixture.store([UInt8](repeating: 1, count: 9_000), for: CacheKey(named: "long"), tags: "x")
    #expect(try await fixture.store.markStale(.tags(["x", "none"]), since: Self.time) == 3)
    #expect(try await Self.marked(fixture.store) == ["a", "b", "long"])
    #expect(try await fixture.text("b") == "b")
    #expect(try await fixture.bytes(CacheKey(named: "long"))?.count == 9_000)
    #expect(try await fixture.store.remove(.tags(["x"])) == 3)
    #expect(try await fixture.store.remove(.tags(["x"])) == 0)
    #expect(Set(try await fixture.names()) == ["c", "d"])
    #expect(try await fixture.store.remove(.tags(["y", "z"])) == 1)
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func aConfirmedResponseHasItsNewTagsAndNoMark(kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind)
    let entry = try #require(try await fixture.store([1, 2], for: CacheKey(named: "a"), tags: "old, both"))
    _ = try await fixture.store.markStale(.all, since: Self.time)
    _ = try await fixture.store.update(
      entry, head: ResponseFixture.head(2, fields: ResponseFixture.fields("both,new")))
    #expect(try await Self.marked(fixture.store).isEmpty)
    #expect(try await fixture.store.remove(.tags(["old"])) == 0)
    #expect(try await fixture.store.remove(.tags(["new"])) == 1)
  }

  @Test(arguments: ResponseStoreKind.allCases)
  func theFirstMarkStays(kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind)
    try await fixture.store("a", for: "a")
    for later in [5, 0, 9] {
      let time = HTTPDate(secondsSinceEpoch: Self.time.secondsSinceEpoch + Int64(later))
      #expect(try await fixture.store.markStale(.key(CacheKey(named: "a")), since: time) == 1)
    }
    #expect(try await Self.marked(fixture.store) == ["a"])
    #expect(try await fixture.store.list().map(\.head.staleAt) == [Self.time.secondsSinceEpoch])
  }

  @Test func anIndexThatIsMadeAnewKnowsTagsAndMarks() async throws {
    let fixture = try ResponseFixture()
    for name in ["a", "b", "c"] {
      _ = try await fixture.store.setKept(true, for: CacheKey(named: name))
      try await fixture.store(Array(name.utf8), for: CacheKey(named: name), tags: "all, only-\(name)")
    }
    _ = try await fixture.store.markStale(.tags(["only-b"]), since: Self.time)
    try Damage.remove(fixture.folder.file("cache/responses.sqlite"))
    #expect(try await Self.marked(fixture.store) == ["b"])
    #expect(try await fixture.store.remove(.tags(["only-a"])) == 1)
    #expect(try await fixture.store.remove(.tags(["all"])) == 2)
  }

  @Test func manyAreTakenInStepsBetweenWhichOthersGetOn() async throws {
    let fixture = try ResponseFixture()
    for number in 0..<600 {
      try await fixture.store([UInt8(number % 200)], for: CacheKey(named: "\(number)"), tags: "t")
    }
    let other = try fixture.reopened()
    for isSoft in [true, false] {
      let before = other.changeCount()
      let count =
        isSoft
        ? try await fixture.store.markStale(.tags(["t"]), since: Self.time)
        : try await fixture.store.remove(.tags(["t"]))
      #expect(count == 600)
      #expect(other.changeCount() - before >= 4, "so many transactions")
    }
    #expect(try fixture.disk.index.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM tag") } == 0)
  }

  @Test func whatCannotBeMarkedGoes() async throws {
    let fixture = try ResponseFixture()
    _ = try await fixture.store.setKept(true, for: CacheKey(named: "a"))
    let entry = try await fixture.store("a", for: "a")
    try await fixture.store("b", for: "b")
    try ResponseDamageTests.Harm.flipped.strike(fixture.path(of: entry))
    #expect(try await fixture.store.markStale(.all, since: Self.time) == 2)
    #expect(try await fixture.names() == ["b"])
  }
}
