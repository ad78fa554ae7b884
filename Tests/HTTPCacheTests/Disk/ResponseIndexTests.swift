import Foundation
import GRDB
import HTTPTransport
import PageTesting
import TestSupport
import Testing

@testable import HTTPCache

/// What becomes of an index that is damaged, foreign or gone.
struct ResponseIndexTests {
  /// Something kept and something not, short and long.
  private static func filled() async throws -> ResponseFixture {
    let fixture = try ResponseFixture()
    for name in ["a", "b"] {
      try await fixture.store(name, for: name)
      try await fixture.store([UInt8](repeating: name.utf8.first ?? 0, count: 9_000), for: CacheKey(named: name + name))
    }
    for name in ["b", "bb"] { _ = try await fixture.store.setKept(true, for: CacheKey(named: name)) }
    return fixture
  }

  private static func expectAll(_ fixture: ResponseFixture, in store: any ResponseStoring) async throws {
    #expect(Set(try await fixture.names(of: store)) == ["a", "aa", "b", "bb"])
    for name in ["a", "b"] {
      #expect(try await fixture.text(name, of: store) == name)
      #expect(try await fixture.text(name + name, of: store) == String(repeating: name, count: 9_000))
    }
    let usage = try await store.usage()
    #expect((usage.entries, usage.keptEntries) == (2, 2))
  }

  enum Harm: CaseIterable {
    case garbage, cut, empty, newer, beheaded

    func strike(_ path: String) throws {
      let url = URL(fileURLWithPath: path)
      let bytes = try Data(contentsOf: url)
      var generator = SeededGenerator(seed: 8)
      switch self {
      case .garbage: try Data(generator.bytes(20_000)).write(to: url)
      case .cut: try bytes.prefix(bytes.count / 2 + 100).write(to: url)
      case .empty: try Data().write(to: url)
      case .newer: try (bytes.prefix(60) + Data([0, 0, 0, 99]) + bytes.dropFirst(64)).write(to: url)
      case .beheaded: try (Data(repeating: 0xFF, count: 100) + bytes.dropFirst(100)).write(to: url)
      }
    }
  }

  @Test(arguments: Harm.allCases)
  func anIndexThatIsNoneIsPutAsideAndMadeAnewFromTheFiles(harm: Harm) async throws {
    let fixture = try await Self.filled()
    let usage = try await fixture.store.usage()
    let copy = try fixture.closedCopy()
    try harm.strike(copy.folder.file("cache/responses.sqlite"))
    let store = try copy.reopened()
    try await Self.expectAll(copy, in: store)
    #expect(try await store.usage() == usage)
    if harm != .empty {
      let why = harm == .newer ? "newer" : "damaged"
      #expect(try copy.folder.names(in: "cache").contains { $0.hasPrefix("responses.sqlite.\(why)-") })
      #expect(copy.log.lines.contains { $0.hasPrefix("error: the index of responses is \(why)") })
    }
    #expect(copy.log.lines.contains { $0.hasPrefix("notice: the index of responses was built anew") })
    _ = try await store.setKept(false, for: CacheKey(named: "b"))
    try await store.setCapacity(0)
    #expect(try await fixture.names(of: store) == ["bb"])
  }

  @Test("an index that is there is opened when a response is first asked for")
  func openedWhenUsed() async throws {
    let copy = try await Self.filled().closedCopy()
    for suffix in ["-wal", "-shm"] { try Damage.remove(copy.folder.file("cache/responses.sqlite" + suffix)) }
    func isOpen() throws -> Bool { try copy.folder.names(in: "cache").contains("responses.sqlite-wal") }
    let store = try copy.reopened()
    #expect(try !isOpen())
    #expect(try await copy.text("a", of: store) == "a")
    #expect(try isOpen())
  }

  @Test func onlyTheLastIndexThatWasPutAsideIsThere() async throws {
    let fixture = try await Self.filled()
    let copy = try fixture.closedCopy()
    for _ in 0..<3 {
      try Harm.garbage.strike(copy.folder.file("cache/responses.sqlite"))
      try await Self.expectAll(copy, in: try copy.reopened())
    }
    #expect(try copy.folder.names(in: "cache").count { $0.hasPrefix("responses.sqlite.damaged-") } == 1)
  }

  /// Wherever the damage is: what is found is right, what is kept is there.
  @Test func anIndexDamagedWhileItIsOpenLosesNothingThatIsKept() async throws {
    var generator = SeededGenerator(seed: 99)
    var rebuilds = 0
    for round in 0..<16 {
      let fixture = try await Self.filled()
      for number in 0..<30 { try await fixture.store("text \(number)", for: "\(number)") }
      try fixture.disk.index.checkpoint()
      let file = try FileHandle(forUpdating: URL(fileURLWithPath: fixture.folder.file("cache/responses.sqlite")))
      let size = try file.seekToEnd()
      for _ in 0..<30 {
        try file.seek(toOffset: .random(in: 0..<size, using: &generator))
        try file.write(contentsOf: generator.bytes(16))
      }
      try file.close()
      let other = try fixture.reopened()
      for store in [try fixture.disk, other] {
        for number in 0..<30 {
          let text = try await fixture.text("\(number)", of: store)
          #expect(text == nil || text == "text \(number)", "round \(round)")
        }
        try await fixture.store("more", for: "more", of: store)
        #expect(try await fixture.text("more", of: store) == "more", "round \(round)")
        _ = try await store.list()
        _ = try await store.usage()
        try await store.setCapacity(1 << 20)
      }
      #expect(try await fixture.text("b") == "b", "round \(round)")
      #expect(try await fixture.text("bb") == String(repeating: "b", count: 9_000), "round \(round)")
      if fixture.log.lines.contains(where: { $0.contains("is damaged") }) { rebuilds += 1 }
    }
    #expect(rebuilds > 5, "too few rounds hit anything: \(rebuilds)")
  }

  @Test func aChangedFrontInTheIndexIsNeverBelieved() async throws {
    let fixture = try await Self.filled()
    try fixture.disk.index.write { db in
      try db.execute(
        sql: """
          UPDATE response SET front = CAST(REPLACE(CAST(front AS TEXT), 'from', 'form') AS BLOB)
          """)
    }
    #expect(try await fixture.store.entries(for: CacheKey(named: "a")).map(\.head.userInfo) == [["from": "test"]])
    try await Self.expectAll(fixture, in: fixture.store)
    #expect(fixture.log.lines.contains { $0.hasPrefix("error: the index of responses is damaged") })
  }

  @Test(arguments: ["NULL", "'text'", "x'00'", "9223372036854775807"])
  func valuesThatWereNeverWrittenEndNoProcess(value: String) async throws {
    for (table, column) in [
      ("response", "fileSize"), ("response", "isKept"), ("response", "body"), ("response", "front"),
      ("body", "size"), ("body", "entries"), ("total", "bytes"), ("total", "entries"), ("change", "number"),
      ("tag", "tag"), ("tag", "response"),
    ] {
      let fixture = try await Self.filled()
      try fixture.disk.index.write { db in
        try db.execute(sql: "PRAGMA ignore_check_constraints = 1")
        try db.execute(sql: "PRAGMA writable_schema = 1")
        try db.execute(sql: "UPDATE sqlite_schema SET sql = REPLACE(sql, ' NOT NULL', '')")
      }
      let store = try fixture.reopened()
      try store.index.write { try $0.execute(sql: "UPDATE \(table) SET \(column) = \(value)") }
      _ = try? await store.usage()
      _ = store.changeCount()
      _ = try? await store.list()
      try? await store.setCapacity(1_000)
      _ = try? await fixture.store("more", for: "more", of: store)
      _ = try? await store.remove(.tags(["one"]))
      _ = try? await store.remove(.key(CacheKey(named: "a")))
      #expect(try await fixture.store("last", for: "last", of: store).head.status == 200, "\(table).\(column)")
    }
  }

  // MARK: Files

  @Test func aRebuiltIndexLeavesOutWhatIsDamaged() async throws {
    let fixture = try await Self.filled()
    let entries = try await fixture.store.list()
    func entry(_ name: String) throws -> ResponseEntry { try #require(entries.first { $0.key.name == "key:" + name }) }
    try ResponseDamageTests.Harm.flipped.strike(fixture.path(of: entry("a")))
    try ResponseDamageTests.Harm.flipped.strike(fixture.path(of: entry("bb")))
    let front = try fixture.disk.directory.files(isKept: false).entry(entry("aa").id).string
    try Damage.flipBit(front)
    let copy = try fixture.closedCopy()
    try Damage.remove(copy.folder.file("cache/responses.sqlite"))
    #expect(try await copy.names(of: try copy.reopened()) == ["b"])
  }

  @Test func aRebuiltIndexHasOnlyTheNewestOfWhatWasReplaced() async throws {
    let fixture = try ResponseFixture()
    let old = try await fixture.store("old", for: "a")
    let bytes = try #require(FileManager.default.contents(atPath: fixture.path(of: old)))
    fixture.advance(5)
    try await fixture.store("new", for: "a")
    try bytes.write(to: URL(fileURLWithPath: fixture.path(of: old)))
    try Damage.remove(fixture.folder.file("cache/responses.sqlite"))
    #expect(try await fixture.text("a") == "new")
    #expect(try await fixture.names() == ["a"])
  }

  @Test func whatWasRemovedDoesNotComeBackWithANewIndex() async throws {
    let fixture = try await Self.filled()
    for name in ["a", "bb"] { _ = try await fixture.store.remove(.key(CacheKey(named: name))) }
    try Damage.remove(fixture.folder.file("cache/responses.sqlite"))
    #expect(Set(try await fixture.names()) == ["aa", "b"])
    _ = try await fixture.store.remove(.all)
    try Damage.remove(fixture.folder.file("cache/responses.sqlite"))
    #expect(try await fixture.names().isEmpty)
    #expect(try fixture.files(in: "durable").isEmpty)
  }
}
