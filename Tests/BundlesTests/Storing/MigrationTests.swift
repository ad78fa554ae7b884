import Foundation
import GRDB
import HTTPCaching
import PageTesting
import Releases
import TestSupport
import Testing

@testable import Blobs
@testable import Bundles
@testable import HTTPTransport

struct MigrationTests {
  private static let text = "var a = 1"
  private static let eros = #"{"filesMd5": [], "jsVersion": "1"}"#

  /// A store as version 1 wrote it: a source with a release of an Eros manifest, and a bundle outside manifests.
  static func formerStore() throws -> TemporaryDirectory {
    let folder = try TemporaryDirectory()
    let digests = try ContentDigests(of: Array(text.utf8))
    let name = digests.sha256.hex
    for path in ["blobs/\(name.prefix(2))", "partial", "quarantine"] { try Damage.makeFolder(folder.file(path)) }
    try Damage.overwrite(folder.file("blobs/\(name.prefix(2))/\(name)"), with: text)
    let pool = try DatabasePool(path: folder.file("store.sqlite"))
    try Schema.migrator.migrate(pool, upTo: "1: sources, releases, entries, blobs")
    try pool.write { db in
      try db.execute(
        sql: """
          PRAGMA user_version = 1;
          INSERT INTO source (id, url) VALUES (1, 'http://h/md5.json');
          """)
      try db.execute(
        sql: "INSERT INTO blob VALUES (?, ?, ?, 0, 0, 5)", arguments: [digests.sha256, digests.md5, digests.size])
      try db.execute(
        sql: "INSERT INTO \"release\" VALUES (1, 1, 'r1', 1, ?, ?, NULL, NULL, 7, NULL)",
        arguments: [Data(eros.utf8), digests.sha256])
      for (position, kind, file) in [(0, "bundle", "a.js"), (1, "file", "i.png")] {
        try db.execute(
          sql: "INSERT INTO entry VALUES (1, ?, ?, ?, ?, NULL, ?, NULL, 'launch', NULL, ?)",
          arguments: [
            position, kind, file, "http://h/\(file)", digests.md5, kind == "bundle" ? digests.sha256 : nil,
          ])
      }
      try db.execute(sql: "INSERT INTO unlisted VALUES ('http://h/x.js', ?, 9)", arguments: [digests.sha256])
    }
    try pool.close()
    return folder
  }

  @Test("a store of version 1 is migrated when it is opened, and keeps its contents")
  func migration() async throws {
    let folder = try Self.formerStore()
    let store = try BundleStore(at: StoreDirectory(folder.path))
    let source = try #require(try await store.sources().first)
    #expect((source.heldSince, source.usedAt) == (nil, 7))
    #expect(try await store.unlisted().map(\.usedAt) == [9])
    let release = try #require(source.incoming)
    #expect(try await store.contents(of: release).map(\.bundle.isOptional) == [false, true])
    let blob = try #require(try await store.contents(of: release).first?.blob)
    #expect(try await store.bytes(of: blob).bytes == Array(Self.text.utf8))
    // A picture of an Eros manifest is optional.
    #expect(try await store.activate(release))
    // Opening it again changes nothing.
    #expect(try await BundleStore(at: StoreDirectory(folder.path)).sources().count == 1)
  }

  /// A store as version 2 wrote it: the current and the previous release of a source, of which nothing is stored.
  private static func twoReleases(of source: PageURL) throws -> TemporaryDirectory {
    let folder = try TemporaryDirectory()
    let texts = [["a": "A", "b": "B"], ["a": "A", "b": "B2"]]
    let pool = try DatabasePool(path: folder.file("store.sqlite"))
    try Schema.migrator.migrate(pool, upTo: "2: held releases, unlisted use, optional entries")
    try pool.write { db in
      try db.execute(sql: "INSERT INTO source (id, url) VALUES (1, ?)", arguments: [source.text])
      for (index, list) in texts.enumerated() {
        try db.execute(
          sql: """
            INSERT INTO "release" (id, source, name, sequence, manifest, digest, registeredAt, activatedAt)
            VALUES (?1, 1, 'r' || ?1, 1, x'00', ?2, ?1, ?1)
            """, arguments: [index + 1, try ContentDigests(of: [UInt8(index)]).sha256])
        for (position, (name, text)) in list.sorted(by: { $0.key < $1.key }).enumerated() {
          let bundle = try StoreFixture.bundle(name, text)
          try db.execute(
            sql: "INSERT INTO entry VALUES (?, ?, 'bundle', ?, ?, ?, ?, NULL, 'launch', NULL, NULL, 0)",
            arguments: [index + 1, position, name, bundle.url.text, bundle.size, bundle.md5])
        }
      }
      try db.execute(sql: "UPDATE source SET current = 2, previous = 1")
    }
    try pool.close()
    return folder
  }

  @Test("a store of version 2 keeps the entries of each release, and the next release shares the newest one's")
  func entriesOfReleases() async throws {
    let source = try #require(PageURL("http://h/m.json"))
    let folder = try Self.twoReleases(of: source)
    let store = try BundleStore(at: StoreDirectory(folder.path))
    let stored = try #require(try await store.source(source))
    let (current, previous) = (try #require(stored.current), try #require(stored.previous))
    #expect(try await store.contents(of: previous).map(\.bundle.size) == [1, 1])
    #expect(try await store.contents(of: current).map(\.bundle.size) == [1, 2])
    let next = [try StoreFixture.bundle("a", "A"), try StoreFixture.bundle("b", "B33")]
    let release = try await store.register(
      Manifest(release: "r3", bundles: []), bytes: [3], bundles: next, for: source, validators: Validators())
    #expect(try await store.contents(of: release).map(\.bundle) == next)
    #expect(try await store.contents(of: current).map(\.bundle.size) == [1, 2])
    #expect(try await store.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM listed") } == 5)
  }

  @Test("a store of version 1 can be read without being changed")
  func reading() async throws {
    let folder = try Self.formerStore()
    let before = FileManager.default.contents(atPath: folder.file("store.sqlite"))
    let store = try BundleStore(reading: StoreDirectory(folder.path))
    #expect(try await store.sources().first?.isHeld == false)
    #expect(try await store.unlisted().count == 1)
    #expect(FileManager.default.contents(atPath: folder.file("store.sqlite")) == before)
  }

  @Test("a store whose first process was killed before it had tables is empty", arguments: [false, true])
  func missingTables(_ hasHeader: Bool) async throws {
    let folder = try TemporaryDirectory()
    if hasHeader {
      let queue = try DatabaseQueue(path: folder.file("store.sqlite"))
      try await queue.write { try $0.execute(sql: "PRAGMA user_version = 0; CREATE TABLE t (i); DROP TABLE t;") }
      try queue.close()
    } else {
      try Damage.overwrite(folder.file("store.sqlite"), with: "")
    }
    #expect(throws: StoreError.absent(path: folder.path)) { try BundleStore(reading: StoreDirectory(folder.path)) }
    #expect(try await BundleStore(at: StoreDirectory(folder.path)).sources().isEmpty)
  }
}
