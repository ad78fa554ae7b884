import Blobs
import GRDB
import HTTPTransport
import PageTesting
import Releases
import TestSupport
import Testing

@testable import Bundles

/// A publisher's counts of reports.
struct ReportTallyTests {
  /// Counts, a bound, and the decision.
  private static let table: [(good: Int, bad: Int, bound: HaltBound, isReached: Bool)] = [
    (0, 0, HaltBound(), false),
    (0, 199, HaltBound(), false),
    (0, 200, HaltBound(), true),
    (190, 10, HaltBound(), true),
    (191, 9, HaltBound(), false),
    (951, 50, HaltBound(), false),
    (950, 50, HaltBound(), true),
    (200, 0, HaltBound(percent: 0), false),
    (0, 1, HaltBound(percent: 100, installs: 1), true),
    (1, 1, HaltBound(percent: 100, installs: 1), false),
    (0, 0, HaltBound(percent: 5, installs: 0), false),
    (1, 1, HaltBound(percent: 50, installs: -1), true),
  ]

  @Test("every row of the table is decided as it says", arguments: table.indices)
  func bound(_ index: Int) {
    let row = Self.table[index]
    #expect(row.bound.isReached(by: ReportTally(good: row.good, bad: row.bad)) == row.isReached)
  }

  private static func contents(_ text: String) throws -> SHA256Digest { try SHA256Digest(of: Array(text.utf8)) }

  @Test("an install counts once for a release, also after a restart, and the bound halts it")
  func counting() async throws {
    let fixture = try StoreFixture()
    let (first, second) = (try Self.contents("1"), try Self.contents("2"))
    let bound = HaltBound(percent: 50, installs: 4)
    for install in 1...3 {
      let tally = try await fixture.store.count(.good, of: first, from: "install \(install)", bound: bound)
      #expect(tally == ReportTally(good: install))
    }
    let again = try fixture.reopened()
    for standing in [ReleaseStanding.bad, .good] {
      #expect(try await again.count(standing, of: first, from: "install 2", bound: bound) == nil)
    }
    // For another release it counts again.
    #expect(try await again.count(.bad, of: second, from: "install 2", bound: bound) == ReportTally(bad: 1))
    #expect(try await again.count(.bad, of: first, from: "install 4", bound: bound) == ReportTally(good: 3, bad: 1))
    #expect(try await again.count(.bad, of: first, from: "install 5", bound: bound)?.haltedAt == nil)
    let halted = try await again.count(.bad, of: first, from: "install 6", bound: bound)
    #expect((halted?.good, halted?.bad) == (3, 3) && halted?.haltedAt != nil)
    // Good reports lift nothing.
    for install in 7...20 { _ = try await again.count(.good, of: first, from: "install \(install)", bound: bound) }
    let tally = try await fixture.store.tally(of: first)
    #expect((tally.good, tally.bad, tally.haltedAt) == (17, 3, halted?.haltedAt))
  }

  @Test("a person halts a release, and the counts begin anew when it goes on")
  func persons() async throws {
    let store = try StoreFixture().store
    let contents = try Self.contents("1")
    let other = ManifestReference(url: "http://h/other.json", sha256: ContentDigests.filled(1).sha256)
    try await store.halt(contents, otherwise: other)
    let since = try #require(try await store.tally(of: contents).haltedAt)
    try await store.halt(contents, otherwise: nil)
    #expect(try await store.tally(of: contents) == ReportTally(haltedAt: since, otherwise: other))
    #expect(try await store.count(.bad, of: contents, from: "a", bound: HaltBound())?.haltedAt == since)
    try await store.forgetTally(of: contents)
    #expect(try await store.tally(of: contents) == ReportTally())
    #expect(try await store.count(.bad, of: contents, from: "a", bound: HaltBound()) == ReportTally(bad: 1))
  }

  @Test("the sequences of statuses grow, also after a restart and when the clock goes back")
  func sequences() async throws {
    let fixture = try StoreFixture()
    #expect(try await fixture.store.nextStatusSequence(of: fixture.source, atLeast: 100) == 100)
    #expect(try await fixture.store.nextStatusSequence(of: fixture.source, atLeast: 100) == 101)
    #expect(try await fixture.reopened().nextStatusSequence(of: fixture.source, atLeast: 7) == 102)
    #expect(try await fixture.store.nextStatusSequence(of: fixture.source, atLeast: .max) == .max)
    #expect(try await fixture.store.nextStatusSequence(of: fixture.source, atLeast: 0) == .max)
    let other = try #require(PageURL("http://h/other.json"))
    #expect(try await fixture.store.nextStatusSequence(of: other, atLeast: 0) == 0)
  }

  @Test("reports at the same time are all counted")
  func together() async throws {
    let store = try StoreFixture().store
    let contents = try Self.contents("1")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask {
          _ = try await store.count(
            number % 2 == 0 ? .good : .bad, of: contents, from: "install \(number / 2 % 50 * 2 + number % 2)",
            bound: HaltBound())
        }
      }
      try await group.waitForAll()
    }
    #expect(try await store.tally(of: contents) == ReportTally(good: 50, bad: 50))
  }

  @Test("the counts of the latest releases are kept")
  func releases() async throws {
    let store = try StoreFixture().store
    for number in 1...20 {
      _ = try await store.count(.bad, of: Self.contents("\(number)"), from: "a", bound: HaltBound())
    }
    #expect(try await store.tally(of: Self.contents("4")) == ReportTally())
    #expect(try await store.tally(of: Self.contents("5")) == ReportTally(bad: 1))
    let rows = try await store.read { db in try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM counted") }
    #expect(rows == 16)
  }

  @Test("a store and a manifest agree about the identity of a release, whatever it is called")
  func identity() async throws {
    let fixture = try StoreFixture()
    let texts = ["é": "1", "e\u{301}x": "2", "z": "3", "a": "4", "Z": "5"]
    let release = try await fixture.activated(texts)
    let stored = try await fixture.store.read { db in try BundleStore.contents(of: release.id, db) }
    let entries = try texts.map { name, text in
      (kind: "bundle", name: name, md5: try ContentDigests(of: Array(text.utf8)).md5)
    }
    #expect(try SHA256Digest(ofContents: entries) == stored)
    #expect(try SHA256Digest(ofContents: entries.reversed()) == stored)
    #expect(try SHA256Digest(ofContents: entries.dropLast()) != stored)
  }

  @Test("a halt stays until it is lifted, however many other releases are reported")
  func keptHalts() async throws {
    let fixture = try StoreFixture()
    let (halted, bound) = (try Self.contents("halted"), HaltBound(percent: 50, installs: 4))
    for install in 1...4 { _ = try await fixture.store.count(.bad, of: halted, from: "\(install)", bound: bound) }
    let reports = try (1...40).map {
      BundleStore.CountedReport(release: try Self.contents("other \($0)"), standing: .good, install: "1")
    }
    #expect(try await fixture.store.count(reports, bound: bound).isNew == [Bool](repeating: true, count: 40))
    let tally = try await fixture.store.tally(of: halted)
    #expect((tally.bad, tally.haltedAt != nil) == (4, true))
    #expect(try await fixture.store.count(.bad, of: halted, from: "1", bound: bound) == nil)
    // Of the others the oldest are forgotten.
    #expect(try await fixture.store.tally(of: reports[0].release) == ReportTally())
    #expect(try await fixture.store.tally(of: reports[39].release) == ReportTally(good: 1))
    try await fixture.store.forgetTally(of: halted)
    #expect(try await fixture.store.tally(of: halted).haltedAt == nil)
  }
}
