import Blobs
import Foundation
import GRDB
import HTTPCaching
import HTTPTransport
import Releases
import TestSupport
import Testing

@testable import Bundles

/// Entries that several releases share.
struct ListedTests {
  private static func rows(_ store: BundleStore) async throws -> Int? {
    try await store.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM listed") }
  }

  @Test("a release with one changed bundle adds one row, and both releases keep their entries")
  func sharedRows() async throws {
    let fixture = try StoreFixture()
    let first = try await fixture.activated(["a": "A", "b": "B", "c": "C"], named: "r1")
    let second = try await fixture.activated(["a": "A", "b": "B2", "c": "C"], named: "r2")
    #expect(try await Self.rows(fixture.store) == 4)
    let texts = try await [first, second].asyncMap { release in
      try await fixture.store.contents(of: release).map { $0.blob?.size }
    }
    #expect(texts == [[1, 1, 1], [1, 2, 1]])
    #expect(try await fixture.store.bundle(at: fixture.url("b"), in: first)?.bundle.size == 1)
    #expect(try await fixture.store.bundle(at: fixture.url("b"), in: second)?.bundle.size == 2)
    _ = try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false)
    #expect(try await Self.rows(fixture.store) == 3)
    #expect(try await fixture.store.contents(of: second).count == 3)
  }

  @Test("each release keeps its list while bundles come, go, move and change", arguments: 0..<8 as Range<UInt64>)
  func changingLists(_ seed: UInt64) async throws {
    let fixture = try StoreFixture()
    var state = seed &* 7_919 &+ 1
    func random(_ limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % limit
    }
    var names = ["a", "b", "c", "d", "e"]
    var versions: [String: Int] = [:]
    var known: [(release: StoredRelease, list: [PageBundle])] = []
    for number in 0..<10 {
      switch random(5) {
      case 0: names.insert("n\(number)", at: random(names.count + 1))
      case 1 where names.count > 1: names.remove(at: random(names.count))
      case 2: names.swapAt(0, random(names.count))
      case 3: names.reverse()
      default: versions[names[random(names.count)], default: 0] += 1
      }
      let list = try names.map { try StoreFixture.bundle($0, "\($0) \(versions[$0] ?? 0)") }
      let release = try await fixture.register(list, named: "r\(number)")
      // Some releases never become complete, and are replaced.
      if random(3) > 0 {
        for name in names { try await fixture.add("\(name) \(versions[name] ?? 0)", to: release) }
        #expect(try await fixture.store.activate(release))
        if random(2) == 0 { _ = try await fixture.store.collectGarbage(keepingPrevious: true, dryRun: false) }
      }
      known.append((release, list))
      let source = try #require(try await fixture.store.source(fixture.source))
      for stored in [source.current, source.previous, source.incoming].compactMap(\.self) {
        let list = try #require(known.first { $0.release.id == stored.id }?.list)
        let found = try await fixture.store.contents(of: stored)
        #expect(found.map(\.bundle) == list)
        if stored.activatedAt != nil { #expect(found.allSatisfy { $0.blob != nil }) }
      }
    }
    _ = try await fixture.store.forget(fixture.source)
    #expect(try await Self.rows(fixture.store) == 0)
  }

  @Test("the known columns are those that the migrations make")
  func columns() throws {
    let database = try DatabaseQueue()
    try Schema.migrator.migrate(database)
    #expect(try database.read { try Schema.contents($0).columns } == Schema.expected)
  }

  @Test("files are not looked at again while their folders are as they were, for a day")
  func checkedFiles() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.activated(["a": "A", "b": "B"])
    let later = Date().timeIntervalSince1970 + 100
    func store(_ now: Double) throws -> BundleStore {
      try BundleStore(at: StoreDirectory(fixture.folder.path), now: { now })
    }
    let blobs = try await fixture.store.contents(of: release).compactMap(\.blob)
    #expect(try await store(later).countsIfStored(of: release)?.storedBundles == 2)
    // A change in place leaves the folder as it was.
    let file = fixture.path(of: try #require(blobs.first))
    #expect(chmod(file, 0o644) == 0)
    let handle = try #require(FileHandle(forWritingAtPath: file))
    try handle.truncate(atOffset: 0)
    try handle.close()
    #expect(try await store(later + 60).countsIfStored(of: release)?.storedBundles == 2)
    #expect(try await store(later + 86_460).countsIfStored(of: release) == nil)
    #expect(try await store(later - 60).countsIfStored(of: release) == nil)
    try FileManager.default.removeItem(atPath: fixture.path(of: try #require(blobs.last)))
    #expect(try await store(later + 60).countsIfStored(of: release) == nil)
  }

  @Test("files that were looked at are not looked at again with the next release, while their folders are as they were")
  func filesOfTheNextRelease() async throws {
    let fixture = try StoreFixture()
    let first = try await fixture.activated(["a": "A", "b": "B", "c": "C"], named: "r1")
    let later = Date().timeIntervalSince1970 + 100
    let store = try BundleStore(at: StoreDirectory(fixture.folder.path), now: { later })
    #expect(try await store.countsIfStored(of: first)?.storedBundles == 3)
    // A change in place leaves the folder as it was.
    let blob = try #require(try await store.contents(of: first).first?.blob)
    let file = fixture.path(of: blob)
    #expect(chmod(file, 0o644) == 0)
    let handle = try #require(FileHandle(forWritingAtPath: file))
    try handle.truncate(atOffset: 0)
    try handle.close()
    let next = try await fixture.register(
      [StoreFixture.bundle("a", "A"), StoreFixture.bundle("b", "B2"), StoreFixture.bundle("c", "C")], named: "r2")
    let stock = try #require(try await store.stock(of: next))
    #expect(stock.absent == [try StoreFixture.bundle("b", "B2")])
    #expect((stock.counts.bundles, stock.counts.storedBundles, stock.counts.onDemand) == (3, 2, 0))
    try FileManager.default.removeItem(atPath: file)
    #expect(try await store.stock(of: next) == nil)
  }

  @Test("an entry on demand whose bytes came since a look is looked at with the next release")
  func bytesOnDemand() async throws {
    let fixture = try StoreFixture()
    let other = try #require(PageURL("http://other/manifest.json"))
    let onDemand = try StoreFixture.bundle("d", "D", preload: .demand, withSHA256: true)
    let first = try await fixture.register([StoreFixture.bundle("a", "A"), onDemand], named: "r1")
    try await fixture.add("A", to: first)
    #expect(try await fixture.store.activate(first))
    let apart = try await fixture.register([StoreFixture.bundle("x", "D")], named: "x", for: other)
    try await fixture.add("D", to: apart)
    let later = Date().timeIntervalSince1970 + 100
    let store = try BundleStore(at: StoreDirectory(fixture.folder.path), now: { later })
    #expect(try await store.countsIfStored(of: first)?.onDemand == 1)
    // The next release takes the bytes from the other source; no folder changes.
    let next = try await fixture.register([StoreFixture.bundle("a", "A"), onDemand], named: "r2")
    #expect(try await store.stock(of: next)?.counts.storedBundles == 2)
    let blob = try #require(try await store.contents(of: next).last?.blob)
    let file = fixture.path(of: blob)
    #expect(chmod(file, 0o644) == 0)
    let handle = try #require(FileHandle(forWritingAtPath: file))
    try handle.truncate(atOffset: 0)
    try handle.close()
    try await store.write { db in
      try db.execute(sql: "UPDATE \"release\" SET checked = NULL WHERE id = ?", arguments: [next.id])
    }
    #expect(try await store.stock(of: next) == nil)
  }

  @Test("folders that have just changed are not believed the next time")
  func unsettledFolders() async throws {
    let fixture = try StoreFixture()
    let now = Date().timeIntervalSince1970
    let release = try await fixture.activated(["a": "A"])
    let store = try BundleStore(at: StoreDirectory(fixture.folder.path), now: { now })
    #expect(try await store.countsIfStored(of: release)?.storedBundles == 1)
    #expect(try await store.read { try String.fetchOne($0, sql: "SELECT checked FROM \"release\"") } == nil)
  }

  @Test("bytes that are added to a release, or quarantined, end the trust in its files")
  func endOfTrust() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.activated(["a": "A"])
    let store = try BundleStore(
      at: StoreDirectory(fixture.folder.path), now: { Date().timeIntervalSince1970 + 100 })
    func noted() async throws -> String? {
      try await store.read { try String.fetchOne($0, sql: "SELECT checked FROM \"release\"") }
    }
    #expect(try await store.countsIfStored(of: release) != nil)
    #expect(try await noted() != nil)
    try await fixture.add("A", to: release)
    #expect(try await noted() == nil)
    #expect(try await store.countsIfStored(of: release) != nil)
    let blob = try #require(try await store.contents(of: release).first?.blob)
    try Damage.overwrite(fixture.path(of: blob), with: "B")
    try await store.quarantine(blob)
    #expect(try await noted() == nil)
  }

  @Test("the text of checked files is read as it was written, and no other text is")
  func checkedText() throws {
    var counts = ReleaseCounts()
    (counts.bundles, counts.files, counts.storedBundles, counts.storedFiles, counts.onDemand) = (5, 4, 3, 2, 1)
    let checked = CheckedFiles(
      time: 1_795_566_486.25, folders: try ContentDigests(of: [1]).sha256, counts: counts)
    #expect(CheckedFiles(checked.text) == checked)
    for text in ["", "x", checked.text + " 1", String(checked.text.dropFirst()), checked.text.dropLast() + "x"] {
      #expect(CheckedFiles(String(text)) == nil)
    }
  }
}

extension Array {
  fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async rethrows -> [Value] {
    var values: [Value] = []
    for element in self { values.append(try await body(element)) }
    return values
  }
}

extension StoreFixture {
  fileprivate func url(_ name: String) throws -> PageURL { try #require(PageURL("http://h/\(name).js")) }
}
