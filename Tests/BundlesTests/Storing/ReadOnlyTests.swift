import Foundation
import HTTPCaching
import HTTPTransport
import Logging
import PageTesting
import Releases
import TestSupport
import Testing

@testable import Blobs
@testable import Bundles

struct ReadOnlyTests {
  /// A store with a release, whose folder can no longer be locked: for whoever runs the tests, root too.
  private static func locked(_ body: (StoreFixture, StoredRelease) async throws -> Void) async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.activated(["a": "A"])
    try Damage.remove(fixture.folder.file("lock"))
    try Damage.makeFolder(fixture.folder.file("lock"))
    try await body(fixture, release)
  }

  private static func opened(_ fixture: StoreFixture, logger: Logger = Logger(label: "test")) throws -> BundleStore {
    try BundleStore(at: StoreDirectory(fixture.folder.path), allowsReadOnly: true, logger: logger)
  }

  @Test("the contents of a folder that cannot be written are used")
  func contents() async throws {
    try await Self.locked { fixture, release in
      let store = try Self.opened(fixture)
      #expect(store.readOnlyReason?.contains("lock") == true)
      let blob = try #require(try await store.contents(of: release).first?.blob)
      #expect(try await store.bytes(of: blob).bytes == Array("A".utf8))
      #expect(try await store.source(fixture.source)?.current?.name == "r1")
    }
  }

  @Test("added bytes are available until the store is closed, and are not kept")
  func addedBytes() async throws {
    try await Self.locked { fixture, _ in
      let before = try FileManager.default.subpathsOfDirectory(atPath: fixture.folder.path).sorted()
      let session = try await Self.addingRelease(to: fixture)
      #expect(try FileManager.default.subpathsOfDirectory(atPath: fixture.folder.path).sorted() == before)
      #expect(!Damage.exists(session))
    }
  }

  /// - Returns: the folder that the store wrote to.
  private static func addingRelease(to fixture: StoreFixture) async throws -> String {
    let store = try opened(fixture)
    let bundles = [try StoreFixture.bundle("a", "A"), try StoreFixture.bundle("b", "B")]
    let next = try await store.register(
      Manifest(release: "r2", bundles: []), bytes: [1], bundles: bundles, for: fixture.source,
      validators: Validators())
    let blob = try await fixture.add("B", to: next, of: store)
    #expect(try await store.activate(next))
    #expect(try await store.bytes(of: blob).bytes == Array("B".utf8))
    let session = try #require(store.sessionFolder)
    #expect(Damage.exists(session))
    return session
  }

  @Test("damaged bytes of a read-only store are not used, and the fetched ones are")
  func damagedBytes() async throws {
    try await Self.locked { fixture, release in
      let store = try Self.opened(fixture)
      let blob = try #require(try await store.contents(of: release).first?.blob)
      try Damage.flipBit(fixture.path(of: blob))
      await #expect(throws: BlobError.self) { try await store.bytes(of: blob) }
      try await store.quarantine(blob)
      #expect(try await store.contents(of: release).first?.blob == nil)
      try await fixture.add("A", to: release, of: store)
      #expect(try await store.bytes(of: blob).bytes == Array("A".utf8))
      try await store.check(blob)
      #expect(Damage.exists(fixture.path(of: blob)))
    }
  }

  @Test("a read-only store is reported once in the log")
  func warning() async throws {
    try await Self.locked { fixture, release in
      let log = LogLines()
      let store = try Self.opened(fixture, logger: log.logger)
      _ = try await store.contents(of: release)
      _ = try await store.register(
        Manifest(release: "r2", bundles: []), bytes: [1], bundles: [], for: fixture.source, validators: Validators())
      let lines = log.lines.filter { $0.contains("read only") }
      #expect(lines.count == 1)
      #expect(lines.first?.contains(fixture.folder.path) == true)
    }
  }

  @Test("opening for writing fails if the folder cannot be written")
  func unwritableFolder() async throws {
    try await Self.locked { fixture, _ in
      let error = #expect(throws: StoreError.self) { try fixture.reopened() }
      guard case .notWritable? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
  }

  @Test("a store with another program's file in the place of its folders is read only, and the file stays")
  func foreignFile() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.activated(["a": "A"])
    for name in ["blobs", "partial", "views"] { try Damage.remove(fixture.folder.file(name)) }
    let file = fixture.folder.file("blobs")
    try Damage.overwrite(file, with: "theirs")
    let store = try Self.opened(fixture)
    #expect(store.readOnlyReason?.contains(file) == true)
    #expect(try await store.source(fixture.source)?.current?.name == "r1")
    #expect(throws: StoreError.foreignFile(path: file)) { try fixture.reopened() }
    #expect(FileManager.default.contents(atPath: file) == Data("theirs".utf8))
  }

  @Test("the folder of a process that was killed is removed by the next")
  func abandonedSessionFoldersAreRemoved() throws {
    let parent = FileManager.default.temporaryDirectory.path
    let abandoned = "\(parent)/pagekit-session-\(UUID().uuidString)"
    try Damage.makeFolder(abandoned)
    try Damage.overwrite(abandoned + "/session", with: "")
    let (first, second) = (try SessionFolder(), try SessionFolder())
    #expect(!Damage.exists(abandoned))
    #expect(Damage.exists(first.path) && Damage.exists(second.path))
  }
}
