import Foundation
import HTTPTransport
import PageTesting
import Testing

@testable import HTTPCache

/// When responses were used last, in memory and in the index.
struct ResponseUsesTests {
  private static let hour = ResponseUses.tolerance
  private static let minute = ResponseUses.period

  // MARK: Decisions

  @Test("each use is later than those before, whatever the clock does")
  func order() {
    var uses = ResponseUses()
    uses.advance(to: 500)
    _ = uses.record([1, 2], at: 100)
    _ = uses.record([3, 1], at: 50)
    #expect([1, 2, 3].map { uses.time(of: $0) } == [504, 502, 503])
    #expect(uses.time(of: 4) == nil)
    #expect(uses.latest == 504)
  }

  @Test("times in the index are looked at once a minute, and count as too early after an hour")
  func lateness() {
    var uses = ResponseUses()
    #expect(uses.record([1, 2, 3, 4], at: 0).isEmpty)
    #expect(uses.record([1], at: Self.minute - 1).isEmpty)
    #expect(uses.record([1], at: Self.minute).map(\.id) == [1, 2, 3, 4], "nothing is known of the index")
    uses.found(Self.minute, for: 1)
    uses.found(-Self.hour, for: 2)
    uses.found(3 - Self.hour, for: 3)
    uses.found(4 - Self.hour, for: 4)
    uses.found(nil, for: 5)
    #expect(uses.late().map(\.id) == [2])
    uses.found(nil, for: 2)
    #expect(uses.late().isEmpty)
    #expect(uses.time(of: 2) == nil)
    #expect(uses.record([1], at: Self.minute + Self.hour - 1).isEmpty)
    #expect(uses.record([1], at: 2 * Self.minute + Self.hour).map(\.id) == [1])
  }

  @Test("the number of responses whose uses are known has a limit, and those used last stay")
  func limit() {
    var uses = ResponseUses(limit: 10)
    #expect(uses.record(Array(1...10), at: 0).isEmpty)
    #expect(uses.record([1, 11], at: 0).map(\.id) == Array(1...11))
    #expect((1...11).filter { uses.time(of: $0) != nil } == [1, 8, 9, 10, 11])
  }

  @Test("a response whose time was noted when it was read is asked for only if that is too early")
  func noted() {
    var uses = ResponseUses()
    uses.note(0, for: 1)
    uses.note(-Self.hour, for: 2)
    _ = uses.record([1, 2, 3], at: 0)
    #expect(uses.late().map(\.id) == [2, 3])
    uses.note(Self.minute, for: 2)
    _ = uses.record([2], at: 1)
    #expect(uses.late().map(\.id) == [3])
  }

  @Test("the times of responses that were read and not used are forgotten")
  func unused() {
    var uses = ResponseUses()
    for id in Int64(1)...10_000 { uses.note(0, for: id) }
    _ = uses.record(Array(1...10_000), at: 0)
    let late = Set(uses.late().map(\.id))
    #expect(late.count >= 8_900 && !late.contains(10_000))
  }

  // MARK: The store

  private static func log(_ fixture: ResponseCacheFixture) -> Data? {
    FileManager.default.contents(atPath: fixture.folder.file("cache/responses.sqlite-wal"))
  }

  @Test("hits of stored responses write nothing to the disk")
  func hitsWriteNothing() async throws {
    let fixture = try ResponseCacheFixture(memoryCapacity: 0)
    let keys = try (0..<300).map { try ResponseCacheFixture.key("\($0)") }
    for key in keys { try await fixture.store([1], for: key) }
    let before = try #require(Self.log(fixture))
    for key in keys + keys { #expect(try await fixture.bytes(key) == [1]) }
    fixture.cache.tellUses()
    // Whatever is to be written is written before this.
    _ = try await fixture.cache.usage()
    #expect(Self.log(fixture) == before)
  }

  @Test("used responses are evicted after unused ones, also when others were stored meanwhile")
  func evictionAcrossCommits() async throws {
    let fixture = try ResponseFixture(capacity: 100_000)
    func bytes(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 10_000) }
    var entries: [ResponseEntry] = []
    for number in 0..<6 {
      entries.append(try #require(try await fixture.store(bytes(number), for: CacheKey(named: "\(number)"))))
    }
    fixture.store.touch([entries[0].id, entries[2].id])
    fixture.advance(-5_000)
    for number in 6..<9 { try await fixture.store(bytes(number), for: CacheKey(named: "\(number)")) }
    fixture.store.touch([entries[1].id])
    #expect(try await fixture.names() == ["1", "8", "7", "6", "2", "0", "5", "4", "3"])
    try await fixture.store.setCapacity(66_000)
    #expect(try await fixture.names() == ["1", "8", "7", "6", "2", "0"])
    try await fixture.store.setCapacity(44_000)
    #expect(try await fixture.names() == ["1", "8", "7", "6"])
    try await fixture.store.setCapacity(22_000)
    #expect(try await fixture.names() == ["1", "8"])
  }

  @Test("another process sees a use if an hour has passed since the one it knows, and none before")
  func sharing() async throws {
    let fixture = try ResponseFixture()
    let other = try fixture.reopened()
    let first = try await fixture.store("a", for: "a")
    try await fixture.store("b", for: "b")
    for (passed, names) in [(61.0, ["b", "a"]), (3_600, ["a", "b"])] {
      fixture.store.touch([first.id])
      fixture.advance(passed)
      fixture.store.touch([first.id])
      _ = try await fixture.store.usage()
      #expect(try await fixture.names() == ["a", "b"])
      #expect(try await fixture.names(of: other) == names)
    }
  }

  @Test("a store that ends leaves its uses in the index")
  func end() async throws {
    let fixture = try ResponseFixture()
    let first = try await fixture.store("a", for: "a")
    try await fixture.store("b", for: "b")
    var store: ResponseStore? = try fixture.reopened()
    fixture.advance(3_601)
    store?.touch([first.id])
    #expect(try await fixture.names() == ["b", "a"])
    store = nil
    try await eventually("the use is written") { try await fixture.names() == ["a", "b"] }
  }
}
