import Foundation
import HTTPCaching
import PageTesting
import Releases
import Synchronization
import TestSupport
import Testing

@testable import Blobs
@testable import Bundles
@testable import HTTPTransport

struct OpeningTests {
  @Test func aStoreWrittenByANewerVersionIsRefusedByName() async throws {
    let fixture = try StoreFixture()
    try await fixture.store.execute("PRAGMA user_version = 99")
    try await fixture.store.execute("INSERT INTO grdb_migrations VALUES ('99: something')")
    let error = #expect(throws: StoreError.self) { try fixture.reopened() }
    #expect(error == .newerVersion(path: fixture.folder.file("store.sqlite"), found: 99, supported: Schema.version))
    #expect(error?.description.contains("store.sqlite") == true)
    #expect(throws: StoreError.self) { try BundleStore(reading: StoreDirectory(fixture.folder.path)) }
  }

  @Test("a folder with another program's file is not made a store, and the file stays")
  func foreignFile() throws {
    let folder = try TemporaryDirectory()
    let file = folder.file("blobs")
    try Data("theirs".utf8).write(to: URL(fileURLWithPath: file))
    #expect(throws: StoreError.foreignFile(path: file)) { try BundleStore(at: StoreDirectory(folder.path)) }
    #expect(FileManager.default.contents(atPath: file) == Data("theirs".utf8))
  }

  @Test("a missing store is not made for reading")
  func missingStore() throws {
    let folder = try TemporaryDirectory()
    let path = folder.file("none")
    #expect(throws: StoreError.absent(path: path)) { try BundleStore(reading: StoreDirectory(path)) }
    #expect(!Damage.exists(path))
  }

  @Test func aStoreOpenedForReadingReadsAndRefusesToWrite() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.activated(["a": "A"])
    let reading = try BundleStore(reading: StoreDirectory(fixture.folder.path))
    let blob = try #require(try await reading.contents(of: release).first?.blob)
    #expect(try await reading.bytes(of: blob).bytes == Array("A".utf8))
    await #expect(throws: StoreError.self) { try await reading.activate(release) }
    await #expect(throws: StoreError.self) {
      try await reading.download(for: ExpectedContent(md5: nil), url: fixture.source)
    }
  }

  @Test("a process that only reads a store does not write to its database, and leaves no log")
  func unwrittenDatabase() async throws {
    let folder = try TemporaryDirectory()
    let database = folder.file("store.sqlite")
    func use() async throws {
      let store = try BundleStore(at: StoreDirectory(folder.path))
      #expect(try await store.sources().isEmpty)
    }
    func closed() async throws -> FileStatus {
      // The connections are closed when the last reference has gone.
      let deadline = ContinuousClock.now + .seconds(10)
      while Damage.exists(database + "-wal") {
        try #require(ContinuousClock.now < deadline, "the log is still there")
        try await Task.sleep(for: .milliseconds(10))
      }
      return try #require(FileStatus(ofLink: database))
    }
    try await use()
    let made = try await closed()
    try await use()
    #expect(try await closed() == made)
    // Of a process that ended before it closed the database.
    try Damage.overwrite(database + "-wal", with: "\0")
    try await use()
    #expect(try await closed() == made)
  }

  @Test func aFolderThatCannotBeMadeIsNamed() throws {
    let folder = try TemporaryDirectory()
    try Damage.overwrite(folder.file("file"), with: "")
    let error = #expect(throws: StoreError.self) { try BundleStore(at: StoreDirectory(folder.file("file/store"))) }
    #expect(error?.description.contains(folder.file("file/store")) == true)
  }

  @Test func aDamagedDatabaseIsPutAsideAndTheBlobsAreTakenIn() async throws {
    let fixture = try StoreFixture()
    let bundles = [try StoreFixture.bundle("a", "A", withSHA256: true)]
    try await fixture.add("A", to: fixture.register(bundles))
    let damaged = try TemporaryDirectory()
    try Damage.copy(fixture.folder.file("blobs"), to: damaged.file("blobs"))
    try Damage.overwrite(damaged.file("store.sqlite"), with: String(repeating: "no database ", count: 1000))
    #expect(throws: StoreError.self) { try BundleStore(reading: StoreDirectory(damaged.path)) }

    let store = try BundleStore(at: StoreDirectory(damaged.path))
    let release = try await store.register(
      Manifest(release: "r", bundles: []), bytes: [1], bundles: bundles, for: fixture.source, validators: Validators())
    let blob = try #require(try await store.contents(of: release).first?.blob)
    #expect(try await store.bytes(of: blob).bytes == Array("A".utf8))
    #expect(try damaged.names(in: "").contains { $0.hasPrefix("store.sqlite.damaged-") })
  }

  @Test(
    "a database with values of other types is put aside",
    arguments: [
      "UPDATE listed SET name = x'ff00'", "UPDATE source SET url = x'ff00'", "UPDATE listed SET kind = x'ff00'",
    ])
  func valuesOfOtherTypes(_ damage: String) async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.activated(["a": "A"])
    try await fixture.store.execute(damage)
    let before = fixture.store.generation
    _ = try await fixture.store.recordedContents(of: release)
    _ = try await fixture.store.sources()
    #expect(fixture.store.generation == before + 1)
  }

  @Test("a file whose bytes do not match its name is not taken over")
  func misnamedFile() async throws {
    let folder = try TemporaryDirectory()
    let digest = try ContentDigests(of: Array("A".utf8)).sha256.hex
    try Damage.makeFolder(folder.file("blobs/\(digest.prefix(2))"))
    try Damage.overwrite(folder.file("blobs/\(digest.prefix(2))/\(digest)"), with: "B")
    #expect(try await BundleStore(at: StoreDirectory(folder.path)).usage().blobs == 0)
  }

  @Test func tenProcessesMayOpenANewStoreAtOnce() async throws {
    let folder = try TemporaryDirectory()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<10 { group.addTask { _ = try BundleStore(at: StoreDirectory(folder.path)) } }
      try await group.waitForAll()
    }
  }

  @Test func theDefaultFolderFollowsTheXDGVariables() {
    #expect(StoreDirectory.standard(environment: ["XDG_DATA_HOME": "/data", "HOME": "/h"]).path == "/data/pagekit")
    #expect(StoreDirectory.standard(environment: ["HOME": "/h"]).path == "/h/.local/share/pagekit")
    #expect(
      StoreDirectory.standard(environment: ["XDG_DATA_HOME": "relative", "HOME": "/h"]).path
        == "/h/.local/share/pagekit")
  }

  @Test(
    "an app has folders of its own, whatever its name is",
    arguments: [
      ("shop", "shop"), ("a/b", "a-b"), ("/", "-"), ("", "app"), (".", "app"), ("..", "app"), ("a\0b", "a-b"),
    ])
  func appFolders(_ name: String, _ folder: String) {
    let own = StoreDirectory.app(name, environment: ["XDG_DATA_HOME": "/data", "HOME": "/h"])
    #expect(own.path == "/data/\(folder)/pagekit" && own.cache == "/h/.cache/\(folder)/pagekit")
  }

  @Test func theFolderOfAProgramIsNamedAfterItsExecutable() {
    let name = ProcessInfo.processInfo.processName
    #expect(StoreDirectory.app(environment: ["HOME": "/h"]).path == "/h/.local/share/\(name)/pagekit")
  }

  @Test("while a store that was removed waits for another process, the threads that all tasks share go on")
  func waitingForAnotherProcess() async throws {
    let folder = try TemporaryDirectory()
    let (directory, log) = (StoreDirectory(folder.path), LogLines())
    let store = try BundleStore(at: directory, logger: log.logger)
    let lock = StoreLock(path: directory.lock)
    let isHeld = Mutex(false)
    let proceed = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      _ = try? lock.with(.exclusive) {
        isHeld.withLock { $0 = true }
        _ = proceed.wait(timeout: .now() + 60)
      }
    }
    try await eventually("the lock is held") { isHeld.withLock(\.self) }
    try Damage.remove(directory.database.string)
    let url = try #require(PageURL("http://h/a.js"))
    let downloads = (UInt8(0)..<8).map { number in
      Task {
        let expected = ExpectedContent(md5: try MD5Digest(of: [number]))
        try await store.download(for: expected, url: url).discard()
      }
    }
    // Its own thread, which sees the others go on, or lets them.
    let goesOn = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let deadline = ContinuousClock.now + .seconds(20)
        func wait(until isTrue: () -> Bool) { while !isTrue(), ContinuousClock.now < deadline { usleep(1_000) } }
        wait { log.lines.contains { $0.contains("was removed") } }
        let hasGoneOn = Mutex(false)
        Task.detached {
          #expect(store.isWritable)
          hasGoneOn.withLock { $0 = true }
        }
        wait { hasGoneOn.withLock(\.self) }
        proceed.signal()
        continuation.resume(returning: hasGoneOn.withLock(\.self))
      }
    }
    #expect(goesOn)
    for download in downloads { try await download.value }
  }
}
