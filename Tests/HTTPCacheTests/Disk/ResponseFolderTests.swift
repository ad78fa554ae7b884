import Foundation
import PageTesting
import TestSupport
import Testing

@testable import HTTPCache
@testable import HTTPTransport

/// The folders: what the system may empty, what is durable, what lies around.
struct ResponseFolderTests {
  private static let long = [UInt8](repeating: 3, count: 100_000)

  private static func kept() async throws -> ResponseFixture {
    let fixture = try ResponseFixture()
    try await fixture.store("short", for: "short")
    try await fixture.store(long, for: CacheKey(named: "long"))
    for name in ["short", "long"] { _ = try await fixture.store.setKept(true, for: CacheKey(named: name)) }
    try await fixture.store("lost", for: "lost")
    return fixture
  }

  private static func expectKept(_ fixture: ResponseFixture, in store: any ResponseStoring) async throws {
    #expect(try await fixture.text("short", of: store) == "short")
    #expect(try await fixture.bytes(CacheKey(named: "long"), of: store) == long)
    #expect(try await fixture.text("lost", of: store) == nil)
    #expect(try await store.usage().keptEntries == 2)
    // A new response for such a key is kept as before.
    #expect(try await fixture.store("new", for: "short", of: store).isKept)
  }

  @Test func whatIsKeptSurvivesTheLossOfTheCacheFolderWhileNothingRuns() async throws {
    let copy = try await Self.kept().closedCopy()
    try Damage.remove(copy.folder.file("cache"))
    try await Self.expectKept(copy, in: try copy.reopened())
  }

  @Test func whatIsKeptSurvivesTheLossOfTheCacheFolderWhileItIsOpen() async throws {
    let fixture = try await Self.kept()
    try Damage.remove(fixture.folder.file("cache"))
    try await Self.expectKept(fixture, in: fixture.store)
    // Who opens the folder later works on the same.
    let other = try fixture.reopened()
    #expect(try await fixture.text("short", of: other) == "new")
    try await fixture.store("later", for: "later")
    #expect(try await fixture.text("later", of: other) == "later")
    _ = try await other.remove(.key(CacheKey(named: "later")))
    #expect(try await fixture.names() == (try await fixture.names(of: other)))
  }

  @Test func aResponseUnderWayIsStoredAlthoughTheCacheFolderGoes() async throws {
    for count in [10, 10_000, 100_000] {
      let fixture = try ResponseFixture()
      let writer = try fixture.store.writer()
      let bytes = [UInt8](repeating: 8, count: count)
      try writer.append(bytes)
      try Damage.remove(fixture.folder.file("cache"))
      let key = CacheKey(named: "a")
      #expect(
        try await fixture.store.commit(writer, head: ResponseFixture.head(count), for: key, replacing: []) != nil)
      #expect(try await fixture.bytes(key) == bytes)
    }
  }

  @Test func whatIsKeptLiesInTheDurableFolderAndNothingElse() async throws {
    let fixture = try await Self.kept()
    #expect(try fixture.files(in: "durable").count == 3)
    #expect(try fixture.files(in: "cache/responses") == ["swept"])
    for name in ["short", "long"] { _ = try await fixture.store.setKept(false, for: CacheKey(named: name)) }
    #expect(try fixture.files(in: "durable").isEmpty)
    #expect(try await fixture.bytes(CacheKey(named: "long")) == Self.long)
  }

  /// Files cannot be renamed from one file system to another.
  @Test(.enabled(if: Damage.exists("/dev/shm"))) func whatIsKeptMayLieOnAnotherFileSystem() async throws {
    let folder = try TemporaryDirectory()
    let durable = "/dev/shm/pagekit-\(UUID().uuidString)"
    defer { try? Damage.remove(durable) }
    let fixture = try ResponseFixture(.memory)
    let store = try ResponseStore(at: ResponseDirectory(folder.path, durable: durable))
    for name in ["before", "after"] {
      _ = try await store.setKept(name == "after", for: CacheKey(named: name))
      try await fixture.store(Self.long, for: CacheKey(named: name), of: store)
      #expect(try await store.setKept(true, for: CacheKey(named: name)))
      #expect(try await fixture.bytes(CacheKey(named: name), of: store) == Self.long)
    }
    #expect(try await store.usage().keptEntries == 2)
  }

  @Test func regionsHaveFoldersOfTheirOwnWhateverTheirNames() async throws {
    let folder = try TemporaryDirectory()
    let fixture = try ResponseFixture(.memory)
    let directory = ResponseDirectory(folder.file("cache"), durable: folder.file("durable"))
    let names = ["", ".", "..", "a", "a/b", "a%2fb", "é", "responses"]
    let stores = try names.map { try ResponseStore(at: directory.region($0)) } + [ResponseStore(at: directory)]
    for (number, store) in stores.enumerated() {
      #expect(try await store.list().isEmpty)
      try await fixture.store([UInt8(number)], for: CacheKey(named: "a"), of: store)
    }
    _ = try await stores[3].remove(.all)
    _ = try await stores[8].remove(.all)
    for (number, store) in stores.enumerated() where number != 3 && number != 8 {
      #expect(try await fixture.bytes(CacheKey(named: "a"), of: store) == [UInt8(number)])
    }
    #expect(Set(try folder.names(in: "cache/regions")).count == names.count)
  }

  @Test("a session reads what the folders behind it have, and changes nothing there")
  func session() async throws {
    let fixture = try await Self.kept()
    let longer = Self.long + [4]
    try await fixture.store(longer, for: CacheKey(named: "longer"))
    let copy = try fixture.closedCopy()
    let before = try ["cache", "durable"].map { try copy.files(in: $0) }
    let folder = try TemporaryDirectory()
    let directory = ResponseDirectory(copy.folder.file("cache"), durable: copy.folder.file("durable"))
    let store = try ResponseStore(at: directory.session(in: folder.path))
    let stored = ["short": Array("short".utf8), "lost": Array("lost".utf8), "long": Self.long, "longer": longer]
    for (name, bytes) in stored { #expect(try await copy.bytes(CacheKey(named: name), of: store) == bytes) }
    for isKept in [false, true, false] {
      for (name, bytes) in stored {
        #expect(try await store.setKept(isKept, for: CacheKey(named: name)))
        #expect(try await copy.bytes(CacheKey(named: name), of: store) == bytes)
      }
    }
    try await copy.store("new", for: "short", of: store)
    #expect(try await copy.text("short", of: store) == "new")
    try await store.remove(.all)
    #expect(try await store.list().isEmpty)
    #expect(try ["cache", "durable"].map { try copy.files(in: $0) } == before)
    // Without an index, what is kept is found in the files.
    try Damage.remove(copy.folder.file("cache"))
    let other = try TemporaryDirectory()
    try await Self.expectKept(copy, in: ResponseStore(at: directory.session(in: other.path)))
  }

  // MARK: Sweeping

  @Test func whatAKilledProcessLeftGoesAfterADayAndNothingElse() async throws {
    let fixture = try ResponseFixture(now: Date().timeIntervalSince1970)
    try await fixture.store("short", for: "short")
    try await fixture.store(Self.long, for: CacheKey(named: "long"))
    _ = try await fixture.store.setKept(true, for: CacheKey(named: "short"))
    let writer = try fixture.store.writer()
    try writer.append(Self.long)
    let files = try fixture.files(in: "cache/responses")
    let left = ["cache/responses/partial/left", "durable/kept/partial/left"].map { fixture.folder.file($0) }
    let digest = try ContentDigests(of: [1]).sha256
    let orphans = try [true, false].flatMap { isKept in
      let folder = try fixture.disk.directory.files(isKept: isKept)
      return [folder.entry(7).string, folder.body(digest).string]
    }
    for path in left + orphans {
      try Damage.makeFolder(String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)]))
      try Damage.overwrite(path, with: "left")
    }
    _ = try fixture.reopened()
    for path in left + orphans { #expect(Damage.exists(path)) }
    fixture.advance(2 * 86_400)
    let later = try fixture.reopened()
    for path in left + orphans { #expect(!Damage.exists(path), "\(path)") }
    #expect(try fixture.files(in: "cache/responses") == files)
    #expect(try await fixture.text("short", of: later) == "short")
    #expect(try await fixture.bytes(CacheKey(named: "long"), of: later) == Self.long)
    let key = CacheKey(named: "written")
    let head = ResponseFixture.head(Self.long.count)
    #expect(try await fixture.store.commit(writer, head: head, for: key, replacing: []) != nil)
    #expect(try await fixture.bytes(key, of: later) == Self.long)
  }

  @Test func removingEverythingTakesWhatKilledProcessesLeftAsWell() async throws {
    let fixture = try ResponseFixture(now: Date().timeIntervalSince1970)
    try await fixture.store("a", for: "a")
    let left = fixture.folder.file("cache/responses/partial/left")
    try Damage.overwrite(left, with: "left")
    let writer = try fixture.store.writer()
    try writer.append(Self.long)
    _ = try await fixture.store.remove(.all)
    #expect(!Damage.exists(left))
    let head = ResponseFixture.head(Self.long.count)
    _ = try await fixture.store.commit(writer, head: head, for: CacheKey(named: "b"), replacing: [])
    #expect(try await fixture.bytes(CacheKey(named: "b")) == Self.long)
  }

  @Test("a store is opened, swept and used with any clock", arguments: [9_300_000_000, 1e12, -1e10])
  func clock(_ time: Double) async throws {
    let fixture = try ResponseFixture(now: time)
    try await fixture.store("short", for: "short")
    fixture.advance(2 * 86_400)
    let later = try fixture.reopened()
    #expect(try await fixture.text("short", of: later) == "short")
  }
}
