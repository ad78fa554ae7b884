import Foundation
import GRDB
import HTTPTransport
import PageTesting
import TestSupport
import Testing

@testable import HTTPCache

/// Indexes that are damaged, foreign or gone.
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

  /// Expects that only kept responses are there, with their files.
  private static func expectKept(_ fixture: ResponseFixture, in store: any ResponseStoring) async throws {
    #expect(Set(try await fixture.names(of: store)) == ["b", "bb"])
    #expect(try await fixture.text("b", of: store) == "b")
    #expect(try await fixture.text("bb", of: store) == String(repeating: "b", count: 9_000))
    let usage = try await store.usage()
    #expect((usage.entries, usage.keptEntries) == (0, 2))
    #expect(try fixture.files(in: "cache/responses") == ["swept"])
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
  func anIndexThatIsNoneIsPutAsideAndMadeAnewOfWhatIsKept(harm: Harm) async throws {
    let fixture = try await Self.filled()
    let usage = try await fixture.store.usage()
    let copy = try fixture.closedCopy()
    try harm.strike(copy.folder.file("cache/responses.sqlite"))
    let store = try copy.reopened()
    try await Self.expectKept(copy, in: store)
    #expect(try await store.usage().keptBytes == usage.keptBytes)
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

  @Test("an index is made when the first response is stored")
  func madeWhenUsed() async throws {
    let fixture = try ResponseFixture()
    func isMade() throws -> Bool { try fixture.folder.names(in: "cache").contains("responses.sqlite") }
    #expect(try !isMade())
    try await fixture.store("a", for: "a")
    #expect(try isMade())
    #expect(try await fixture.text("a", of: fixture.reopened()) == "a")
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
      try await Self.expectKept(copy, in: try copy.reopened())
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
    #expect(try await fixture.store.entries(for: CacheKey(named: "b")).map(\.head.userInfo) == [["from": "test"]])
    try await Self.expectKept(fixture, in: fixture.store)
    #expect(fixture.log.lines.contains { $0.hasPrefix("error: the index of responses is damaged") })
  }

  @Test(arguments: ["NULL", "'text'", "x'00'", "9223372036854775807"])
  func valuesThatWereNeverWrittenEndNoProcess(value: String) async throws {
    for (table, column) in [
      ("response", "size"), ("response", "isKept"), ("response", "body"), ("response", "front"), ("response", "bytes"),
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

  @Test("an id that another process has given is not given again")
  func takenID() async throws {
    let fixture = try ResponseFixture()
    try await fixture.store("a", for: "a")
    // All ids that a store may give first at this time.
    try fixture.disk.index.write { db in
      try db.execute(
        sql: """
          WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n < 2047)
          INSERT INTO response (id, key, front, size, body, isKept, storedAt, usedAt, staleAt, bytes)
          SELECT (1000000000000 << 11) + n, n, front, size, body, isKept, storedAt, usedAt, staleAt, bytes
          FROM response, number WHERE (1000000000000 << 11) + n <> response.id AND response.key = ?
          """, arguments: [CacheKey(named: "a").description])
    }
    let other = try fixture.reopened()
    try await fixture.store("b", for: "b", of: other)
    for name in ["a", "b"] { #expect(try await fixture.text(name) == name) }
  }

  @Test("an index of an older PageKit is replaced: what is kept stays, and the rest goes with its files")
  func older() async throws {
    let fixture = try await Self.filled()
    let front = try fixture.disk.directory.files(isKept: false).entry(7).string
    try Damage.makeFolder(String(front[..<(front.lastIndex(of: "/") ?? front.endIndex)]))
    try Damage.overwrite(front, with: "a response with its header in front")
    try fixture.disk.index.write { try $0.execute(sql: "PRAGMA user_version = 3") }
    let copy = try fixture.closedCopy()
    let store = try copy.reopened()
    try await Self.expectKept(copy, in: store)
    #expect(copy.log.lines.count { $0.contains("are of an older PageKit") } == 1)
    try await fixture.store("new", for: "a", of: store)
    #expect(try await fixture.text("a", of: try copy.reopened()) == "new")
    #expect(copy.log.lines.count { $0.contains("are of an older PageKit") } == 1, "it is said once")
  }

  @Test("bytes in the index that were changed, or are none, are a miss", arguments: ["x'62'", "x''", "NULL", "'a'"])
  func changedBytes(value: String) async throws {
    let fixture = try await Self.filled()
    let entry = try await fixture.store("abc", for: "abc")
    try fixture.disk.index.write { try $0.execute(sql: "UPDATE response SET bytes = \(value) WHERE id = \(entry.id)") }
    #expect(try await fixture.store.responses(for: entry.key, fields: [:]).map(\.bytes) == [nil])
    #expect(try await fixture.store.body(of: entry) == nil)
    #expect(try await fixture.store.entries(for: entry.key).isEmpty)
    #expect(try await fixture.text("a") == "a")
  }

  @Test("an empty response is stored like any other")
  func empty() async throws {
    let fixture = try ResponseFixture()
    for isKept in [false, true, false] {
      _ = try await fixture.store.setKept(isKept, for: CacheKey(named: "empty"))
      try await fixture.store("", for: "empty")
      #expect(try await fixture.text("empty") == "")
      #expect(try await fixture.store.responses(for: CacheKey(named: "empty"), fields: [:]).map(\.bytes) == [[]])
    }
  }

  // MARK: Files

  @Test func aRebuiltIndexLeavesOutWhatIsDamaged() async throws {
    let fixture = try await Self.filled()
    for name in ["a", "aa"] { _ = try await fixture.store.setKept(true, for: CacheKey(named: name)) }
    let entries = try await fixture.store.list()
    func entry(_ name: String) throws -> ResponseEntry { try #require(entries.first { $0.key.name == "key:" + name }) }
    try ResponseDamageTests.Harm.flipped.strike(fixture.path(of: entry("a")))
    try ResponseDamageTests.Harm.flipped.strike(fixture.path(of: entry("bb")))
    let front = try fixture.disk.directory.files(isKept: true).entry(entry("aa").id).string
    try Damage.flipBit(front)
    let copy = try fixture.closedCopy()
    try Damage.remove(copy.folder.file("cache/responses.sqlite"))
    #expect(try await copy.names(of: try copy.reopened()) == ["b"])
  }

  @Test func aRebuiltIndexHasOnlyTheNewestOfWhatWasReplaced() async throws {
    let fixture = try ResponseFixture()
    _ = try await fixture.store.setKept(true, for: CacheKey(named: "a"))
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
    _ = try await fixture.store.remove(.key(CacheKey(named: "bb")))
    try Damage.remove(fixture.folder.file("cache/responses.sqlite"))
    #expect(Set(try await fixture.names()) == ["b"])
    _ = try await fixture.store.remove(.all)
    try Damage.remove(fixture.folder.file("cache/responses.sqlite"))
    #expect(try await fixture.names().isEmpty)
    #expect(try fixture.files(in: "durable").isEmpty)
  }
}
