import Foundation
import GRDB
import HTTPCaching
import HTTPTransport
import PageTesting
import TestSupport
import Testing

@testable import Blobs
@testable import HTTPCache

/// The file system's space: its size, the free part, and a full one.
struct ResponseSpaceTests {
  private static func sizes(_ fixture: ResponseFixture, _ subfolder: String) throws -> Int64 {
    try fixture.files(in: subfolder).filter { $0.contains("/") }.reduce(0) { sum, path in
      let attributes = try FileManager.default.attributesOfItem(atPath: fixture.folder.file(subfolder + "/" + path))
      return sum + (attributes[.size] as? Int64 ?? 0)
    }
  }

  /// The bytes of what is not kept in the index: headers, and short bodies.
  private static func rows(_ fixture: ResponseFixture) throws -> Int64 {
    try fixture.disk.index.read { db in
      let sql = "SELECT SUM(LENGTH(front) + IFNULL(LENGTH(bytes), 0)) FROM response WHERE isKept = 0"
      return try Int64.fetchOne(db, sql: sql) ?? 0
    }
  }

  @Test func usageIsWhatFilesAndIndexReallyHoldAfterAnyOperations() async throws {
    let fixture = try ResponseFixture(capacity: 60_000)
    var generator = SeededGenerator(seed: 12)
    for _ in 0..<300 {
      let key = CacheKey(named: "\(Int.random(in: 0..<12, using: &generator))")
      switch Int.random(in: 0..<10, using: &generator) {
      case 0: _ = try await fixture.store.setKept(.random(using: &generator), for: key)
      case 1: _ = try await fixture.store.remove(.key(key))
      case 2: try await fixture.store.invalidate([key])
      case 3:
        guard let entry = try await fixture.store.entries(for: key).last else { continue }
        var head = entry.head
        head.fields = [.server: String(repeating: "s", count: .random(in: 0..<900, using: &generator))]
        _ = try await fixture.store.update(entry, head: head)
      case 4: try await fixture.store.setCapacity(.random(in: 20_000..<80_000, using: &generator))
      default:
        // Few different bodies: many are shared.
        let count = [50, 5_000, 5_001, 9_000].randomElement(using: &generator) ?? 0
        try await fixture.store([UInt8](repeating: 1, count: count), for: key)
      }
      let usage = try await fixture.store.usage()
      #expect(usage.bytes == (try Self.sizes(fixture, "cache/responses") + Self.rows(fixture)))
      #expect(usage.keptBytes == (try Self.sizes(fixture, "durable/kept")))
      #expect(usage.bytes <= usage.capacity)
      #expect(try fixture.files(in: "cache/responses/partial").isEmpty)
    }
  }

  @Test func withLittleSpaceLeftWhatIsStaleGoesFirstThenWhatIsLeastUsedNeverWhatIsKept() async throws {
    let fixture = try ResponseFixture()
    for number in 0..<6 {
      let bytes = [UInt8](repeating: UInt8(number), count: 10_000)
      let staleAt: Int64 = number == 3 ? 999_999 : 2_000_000
      try await fixture.store(bytes, for: CacheKey(named: "\(number)"), staleAt: staleAt)
    }
    _ = try await fixture.store.setKept(true, for: CacheKey(named: "0"))
    // Missing: what a new one takes, and what is always to be left.
    fixture.world.available.withLock { $0 = 1_000 }
    fixture.advance(1)
    try await fixture.store("new", for: "a")
    #expect(Set(try await fixture.names()) == ["a", "0", "1", "2", "4", "5"])
    try await fixture.store("new", for: "b")
    #expect(Set(try await fixture.names()) == ["a", "b", "0", "2", "4", "5"])
    fixture.world.available.withLock { $0 = 0 }
    try await fixture.store([UInt8](repeating: 9, count: 11_000), for: CacheKey(named: "c"))
    #expect(Set(try await fixture.names()) == ["a", "b", "c", "0", "5"])
  }

  @Test func whereEvenAnEmptyStoreLeavesTooLittleSpaceNothingIsStored() async throws {
    let fixture = try ResponseFixture()
    try await fixture.store("kept", for: "kept")
    _ = try await fixture.store.setKept(true, for: CacheKey(named: "kept"))
    try await fixture.store("a", for: "a")
    fixture.world.available.withLock { $0 = 0 }
    fixture.advance(1)
    #expect(try await fixture.store([UInt8](repeating: 1, count: 50_000), for: CacheKey(named: "b")) == nil)
    #expect(try await fixture.names() == ["kept"])
    try await fixture.store("still kept", for: "kept")
    #expect(try await fixture.text("kept") == "still kept")
  }

  @Test("a response larger than the store pushes nothing out, however little space is left, and changes nothing")
  func tooLargeWithLittleSpace() async throws {
    let fixture = try ResponseFixture(capacity: 33_000)
    for name in ["a", "b"] { try await fixture.store(name, for: name) }
    let other = try fixture.reopened()
    let before = other.changeCount()
    fixture.world.available.withLock { $0 = 1_000 }
    fixture.advance(1)
    let (large, key) = ([UInt8](repeating: 1, count: 40_000), CacheKey(named: "large"))
    #expect(try await fixture.store(large, for: key) == nil)
    #expect(try await fixture.names() == ["b", "a"])
    #expect(other.changeCount() == before)
    _ = try await fixture.store.setKept(true, for: key)
    #expect(try await fixture.store(large, for: key)?.isKept == true)
    #expect(try await fixture.names() == ["large"])
  }

  @Test func equalBytesOfMoreThanFourKibibytesAreOneFile() async throws {
    let fixture = try ResponseFixture()
    for name in ["a", "b", "c"] {
      try await fixture.store([UInt8](repeating: 1, count: 4_097), for: CacheKey(named: name))
      try await fixture.store([UInt8](repeating: 1, count: 4_096), for: CacheKey(named: name + "short"))
    }
    #expect(try fixture.files(in: "cache/responses/bodies").count == 1)
    for name in ["a", "b"] { _ = try await fixture.store.remove(.key(CacheKey(named: name))) }
    #expect(try await fixture.bytes(CacheKey(named: "c"))?.count == 4_097)
    _ = try await fixture.store.remove(.key(CacheKey(named: "c")))
    #expect(try fixture.files(in: "cache/responses/bodies").isEmpty)
  }

  @Test("the index gives the file system what most responses have taken, when they are removed")
  func shrinking() async throws {
    let fixture = try ResponseFixture()
    for number in 0..<600 {
      try await fixture.store([UInt8](repeating: UInt8(number % 250), count: 4_000), for: CacheKey(named: "\(number)"))
    }
    func size() throws -> Int {
      try fixture.disk.index.checkpoint()
      let attributes = try FileManager.default.attributesOfItem(atPath: fixture.folder.file("cache/responses.sqlite"))
      return attributes[.size] as? Int ?? 0
    }
    let full = try size()
    #expect(full > 600 * 4_000)
    _ = try await fixture.store.remove(.all)
    for _ in 0..<10 { _ = try await fixture.disk.queues.write {} }
    #expect(try size() < full / 10)
  }

  // MARK: Where nothing can be written

  @Test func aFullDatabaseIsAnErrorInWordsAndLeavesNothingBehind() async throws {
    let fixture = try ResponseFixture()
    try await fixture.store("before", for: "before")
    let before = try fixture.files(in: "cache/responses")
    try fixture.disk.index.withPool { pool in
      try pool.writeWithoutTransaction { db in
        let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
        try db.execute(sql: "PRAGMA max_page_count = \(pages)")
      }
    }
    var failures = 0
    for number in 0..<40 {
      do {
        try await fixture.store([UInt8](repeating: UInt8(number), count: 5_000), for: CacheKey(named: "\(number)"))
      } catch let error as StoreError {
        #expect(error.description.hasPrefix("the disk is full: "))
        failures += 1
      }
    }
    #expect(failures > 10)
    let stored = try await fixture.store.list().count
    #expect(try fixture.files(in: "cache/responses").count == before.count + stored - 1)
    #expect(try await fixture.text("before") == "before")
  }

  @Test func aFolderThatCannotBeMadeIsAnErrorInWords() throws {
    let folder = try TemporaryDirectory()
    try Damage.overwrite(folder.file("file"), with: "")
    for (cache, durable) in [("file/cache", "durable"), ("cache", "file/durable")] {
      let directory = ResponseDirectory(folder.file(cache), durable: folder.file(durable))
      let error = #expect(throws: StoreError.self) { try ResponseStore(at: directory) }
      #expect(error?.description.hasPrefix("the store cannot write \(folder.file("file"))") == true)
    }
  }

  @Test func aFolderThatBecomesAFileIsAnErrorInWordsAndNoEnd() async throws {
    let fixture = try ResponseFixture()
    let entry = try #require(try await fixture.store([UInt8](repeating: 2, count: 5_000), for: CacheKey(named: "a")))
    try Damage.overwrite(fixture.folder.file("cache/responses"), with: "")
    #expect(try await fixture.store.body(of: entry) == nil)
    for count in [5_000, 100_000] {
      await #expect(throws: StoreError.self) {
        try await fixture.store([UInt8](repeating: 1, count: count), for: CacheKey(named: "b"))
      }
    }
    try Damage.remove(fixture.folder.file("cache/responses"))
    try await fixture.store("again", for: "a")
    #expect(try await fixture.text("a") == "again")
  }
}
