import Foundation
import GRDB
import HTTPCaching
import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

@testable import HTTPCache

/// Many responses of one URL, chosen by fields that clients make up.
struct ResponseVariantTests {
  private static let key = CacheKey(named: "a")

  private static func vary(_ value: String, _ name: String = "x-client") -> VaryKey { VaryKey(values: [name: value]) }

  private static func fields(_ value: String, _ name: String = "x-client") throws -> HTTPFields {
    [try #require(HTTPField.Name(name)): value]
  }

  private static func found(
    _ store: any ResponseStoring, _ fields: HTTPFields
  ) async throws -> [(values: [String: String?], bytes: [UInt8]?)] {
    try await store.responses(for: key, fields: fields).map { ($0.entry.head.vary.values, $0.bytes) }
  }

  /// Puts variants into a store as it was before they had a limit.
  private static func fill(_ store: ResponseStore, _ count: Int) throws {
    let fields: HTTPFields = [.contentType: "text/plain", .eTag: "\"1\"", .cacheControl: "max-age=60"]
    try store.index.write { db in
      for number in 1...count {
        let head = ResponseFixture.head(1, vary: vary("\(number)"), fields: fields)
        let entry = ResponseEntry(
          id: Int64(number), key: key, head: head, digest: try SHA256Digest(of: [1]), isKept: false,
          storedAt: Double(number))
        let sealed = try #require(try ResponseFileHeader(entry, isInline: true).sealed())
        try ResponseRow.insert(db, entry, sealed: sealed, bytes: [1], usedAt: Int64(number))
      }
    }
  }

  @Test("of many variants only the one that a request may choose is read, with its bytes")
  func chosenVariant() async throws {
    let fixture = try ResponseFixture()
    for number in 1...60 {
      try await fixture.store([UInt8(number)], for: Self.key, vary: Self.vary("\(number)"))
    }
    let found = try await Self.found(fixture.store, Self.fields("7"))
    #expect(found.map(\.values) == [["x-client": "7"]] && found.map(\.bytes) == [[7]])
    // A cache knows from one of them by which fields the responses are chosen.
    let others = try await Self.found(fixture.store, Self.fields("none"))
    #expect(others.map(\.values) == [["x-client": "60"]])
    try await fixture.store([100], for: Self.key, vary: Self.vary("de", "accept-language"))
    try await fixture.store([101], for: Self.key)
    let mixed = try await Self.found(fixture.store, Self.fields("none"))
    #expect(mixed.map(\.values) == [["x-client": "60"], ["accept-language": "de"], [:]])
    let both = try await Self.found(
      fixture.store, Self.fields("9").merging(Self.fields("de", "accept-language")))
    #expect(both.map(\.values) == [["x-client": "9"], ["accept-language": "de"], [:]])
    #expect(both.last?.bytes == [101])
  }

  @Test("a variant for other encodings is read, since it may answer or be confirmed")
  func otherEncodings() async throws {
    let fixture = try ResponseFixture()
    let vary = VaryKey(values: ["accept-encoding": "br,gzip", "x-client": "1"])
    try await fixture.store([1], for: Self.key, vary: vary)
    let other = VaryKey(values: ["accept-encoding": "br,gzip", "x-client": "2"])
    try await fixture.store([2], for: Self.key, vary: other)
    let found = try await Self.found(
      fixture.store, Self.fields("1").merging([.acceptEncoding: "gzip"]))
    #expect(found.map(\.values) == [vary.values])
  }

  @Test("a key has at most 64 variants: the least recently used goes", arguments: ResponseStoreKind.allCases)
  func limit(_ kind: ResponseStoreKind) async throws {
    let fixture = try ResponseFixture(kind)
    let first = try #require(try await fixture.store([1], for: Self.key, vary: Self.vary("1")))
    for number in 2...64 { try await fixture.store([1], for: Self.key, vary: Self.vary("\(number)")) }
    fixture.store.touch([first.id])
    for number in 65...70 { try await fixture.store([1], for: Self.key, vary: Self.vary("\(number)")) }
    let left = try await fixture.store.entries(for: Self.key).compactMap { $0.head.vary.values["x-client"] ?? nil }
    #expect(left == ["1"] + (8...70).map { "\($0)" })
    #expect(try await fixture.store.usage().entries == 64)
  }

  @Test("variants in memory have the same limit")
  func limitInMemory() throws {
    let memory = MemoryTier(capacity: 100 << 20)
    for number in 1...70 {
      let entry = ResponseEntry(
        id: Int64(number), key: Self.key, head: ResponseFixture.head(1, vary: Self.vary("\(number)")),
        digest: try SHA256Digest(of: [1]), isKept: false, storedAt: 0)
      memory.insert(CachedResponse(entry, bytes: [1], policy: CachePolicy(mode: .private)))
    }
    #expect(memory.variants(for: Self.key).map(\.entry.id) == Array(7...70))
  }

  @Test("a response replaces the one with the same values, also after that was confirmed for other ones")
  func replacing() async throws {
    let fixture = try ResponseFixture()
    let first = try #require(try await fixture.store([1], for: Self.key, vary: Self.vary("1")))
    try await fixture.store([2], for: Self.key, vary: Self.vary("2"))
    _ = try await fixture.store.update(first, head: ResponseFixture.head(1, vary: Self.vary("3")))
    #expect(try await Self.found(fixture.store, Self.fields("3")).map(\.bytes) == [[1]])
    try await fixture.store([9], for: Self.key, vary: Self.vary("3"))
    #expect(try await fixture.store.entries(for: Self.key).map(\.head.vary) == [Self.vary("2"), Self.vary("3")])
    #expect(try await Self.found(fixture.store, Self.fields("3")).map(\.bytes) == [[9]])
    _ = try await fixture.store.remove(.key(Self.key))
    let rows = try fixture.disk.index.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM variant") }
    #expect(rows == 0)
  }

  @Test("a store of a program that knows no table of variants opens with all that is stored, and gets one")
  func olderStore() async throws {
    let fixture = try ResponseFixture()
    try Self.fill(try fixture.disk, 100)
    try fixture.disk.index.write { try $0.execute(sql: "DROP TABLE variant") }
    let copy = try fixture.closedCopy()
    let store = try copy.reopened()
    #expect(try await Self.found(store, Self.fields("7")).count == 100, "nothing is known of them, so all are read")
    // The next response brings them within the limit.
    try await copy.store([8], for: Self.key, of: store, vary: Self.vary("new"))
    #expect(try await store.entries(for: Self.key).count == 64)
    #expect(try await Self.found(store, Self.fields("new")).last?.bytes == [8])
    // An older program that works on the same folder meanwhile writes no row for its responses.
    try store.index.write { try $0.execute(sql: "DELETE FROM variant") }
    #expect(try await Self.found(store, Self.fields("99")).contains { $0.values == ["x-client": "99"] })
  }

  @Test("the time to look among many variants is that of a few", arguments: [100, 400, 1_600])
  func manyVariants(_ count: Int) async throws {
    let fixture = try ResponseFixture()
    let store = try fixture.disk
    try Self.fill(store, count)
    let start = ContinuousClock.now
    let all = try await store.entries(for: Self.key)
    let middle = ContinuousClock.now
    let few = try await store.responses(for: Self.key, fields: Self.fields("none"))
    let times = (all: start.duration(to: middle), few: middle.duration(to: .now))
    #expect((all.count, few.count) == (count, 1))
    print("\(count) variants: all are read in \(times.all), those that a request may choose in \(times.few)")
  }
}

extension HTTPFields {
  fileprivate func merging(_ other: HTTPFields) -> HTTPFields {
    var fields = self
    for field in other { fields.append(field) }
    return fields
  }
}
