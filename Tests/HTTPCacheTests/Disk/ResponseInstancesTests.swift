import Foundation
import PageTesting
import TestSupport
import Testing

@testable import HTTPCache
@testable import HTTPTransport

/// Several that use one folder at the same time.
struct ResponseInstancesTests {
  @Test func whatOneDoesTheOthersSee() async throws {
    let fixture = try ResponseFixture()
    let other = try fixture.reopened()
    let entry = try await fixture.store("text", for: "a")
    #expect(try await fixture.text("a", of: other) == "text")
    _ = try await other.setKept(true, for: entry.key)
    #expect(try await fixture.store.body(of: entry) != nil, "it was moved meanwhile")
    #expect(try await fixture.store("new", for: "a").isKept)
    _ = try await other.remove(.key(entry.key))
    #expect(try await fixture.text("a") == nil)
  }

  @Test func onlyChangesOfOthersAreForeign() async throws {
    let fixture = try ResponseFixture()
    let other = try fixture.reopened()
    let third = try fixture.reopened()
    let entry = try await fixture.store("text", for: "a")
    let own = fixture.store.changeCount()
    try await fixture.store("text", for: "b")
    #expect(fixture.store.changeCount() == own)
    other.touch([entry.id])
    _ = try await fixture.text("a", of: other)
    #expect(fixture.store.changeCount() == own, "uses are no changes")
    // However the changes of several follow each other, each is noticed by all others.
    var generator = SeededGenerator(seed: 3)
    let stores = [try fixture.disk, other, third]
    var counts = stores.map { $0.changeCount() }
    for _ in 0..<100 {
      let writer = Int.random(in: 0..<3, using: &generator)
      _ = try await stores[writer].remove(.key(CacheKey(named: "none")))
      for (number, store) in stores.enumerated() {
        #expect((store.changeCount() != counts[number]) == (number != writer))
        counts[number] = store.changeCount()
      }
    }
  }

  @Test func aDamagedIndexIsPutAsideOnceAndAllGoOnWithTheNewOne() async throws {
    let fixture = try ResponseFixture()
    for name in ["a", "b"] { _ = try await fixture.store.setKept(true, for: CacheKey(named: name)) }
    try await fixture.store("text", for: "a")
    let other = try fixture.reopened()
    try await fixture.store("text", for: "b", of: other)
    try fixture.disk.index.checkpoint()
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: fixture.folder.file("cache/responses.sqlite")))
    for page in 1..<8 {
      try file.seek(toOffset: UInt64(page) * 4_096)
      try file.write(contentsOf: Data(repeating: 0xEE, count: 4_096))
    }
    try file.close()
    for store in [other, try fixture.disk] {
      #expect(Set(try await fixture.names(of: store)).isSuperset(of: ["a", "b"]))
      try await fixture.store("more", for: "c", of: store)
    }
    #expect(fixture.log.lines.count { $0.contains("is damaged") } == 1)
    _ = try await other.remove(.key(CacheKey(named: "a")))
    #expect(try await fixture.text("a") == nil)
  }

  /// SQLite removes logs by their names, where it does not see that a database was moved.
  @Test func whoStillHasTheOldIndexTakesNothingFromTheNewOne() async throws {
    let fixture = try ResponseFixture()
    _ = try await fixture.store.setKept(true, for: CacheKey(named: "a"))
    try await fixture.store("text", for: "a")
    var old: ResponseStore? = try fixture.reopened()
    #expect(try await old?.list().count == 1)
    let aside = fixture.folder.file("cache/aside")
    try FileManager.default.moveItem(atPath: fixture.folder.file("cache/responses.sqlite"), toPath: aside)
    for suffix in ["-wal", "-shm"] { try Damage.remove(fixture.folder.file("cache/responses.sqlite" + suffix)) }
    try await fixture.store("text", for: "b")
    old = nil
    #expect(Damage.exists(fixture.folder.file("cache/responses.sqlite-wal")))
    let other = try fixture.reopened()
    #expect(try await fixture.names(of: other) == ["b", "a"])
    try await fixture.store("text", for: "c", of: other)
    #expect(try await fixture.names() == ["c", "b", "a"])
  }

  /// Sharing, replacing, keeping, evicting and removing at once: whatever is found is right, and what the index names
  /// is there.
  @Test func nothingIsLostOrMixedUpWhereManyWorkOnTheSameAtOnce() async throws {
    let fixture = try ResponseFixture(capacity: 150_000)
    let stores = try [fixture.disk, fixture.reopened(capacity: 150_000), fixture.reopened(capacity: 150_000)]
    let bodies = (0..<4).map { [UInt8](repeating: UInt8($0), count: [100, 9_000, 70_000, 20_000][$0]) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<6 {
        let store = stores[task % 3]
        group.addTask {
          var generator = SeededGenerator(seed: UInt64(task))
          for _ in 0..<150 {
            let key = CacheKey(named: "\(Int.random(in: 0..<5, using: &generator))")
            switch Int.random(in: 0..<8, using: &generator) {
            case 0: _ = try await store.remove(.key(key))
            case 1: _ = try await store.setKept(.random(using: &generator), for: key)
            case 2: try await store.invalidate([key])
            case 3, 4:
              for entry in try await store.entries(for: key) {
                guard let bytes = try await store.body(of: entry)?.read(at: 0, upTo: .max) else { continue }
                #expect(try ContentDigests(of: bytes).sha256 == entry.digest)
              }
            default:
              let bytes = bodies[Int.random(in: 0..<4, using: &generator)]
              try await fixture.store(bytes, for: key, of: store)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    for entry in try await stores[0].list() { #expect(try await stores[0].body(of: entry) != nil) }
    #expect(!fixture.log.lines.contains { $0.contains("gone or was changed") }, "the index named what was not there")
    #expect(Set(try await stores[0].list().map(\.key)).count == (try await stores[0].list().count))
    _ = try await stores[1].remove(.all)
    #expect(try fixture.files(in: "cache/responses") == ["swept"])
    #expect(try fixture.files(in: "durable").isEmpty)
  }
}
