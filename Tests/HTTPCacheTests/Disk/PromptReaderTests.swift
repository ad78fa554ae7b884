import CSQLite
import Foundation
import GRDB
import HTTPCaching
import HTTPTypes
import PageTesting
import Synchronization
import TestSupport
import Testing

@testable import Blobs
@testable import HTTPCache

/// Looking responses up without waiting.
struct PromptReaderTests {
  private static let language = VaryKey(values: ["accept-language": "de"])
  private static let short = [UInt8](repeating: 1, count: 1_000)

  /// A store with a connection that reads at once.
  private static func ready() async throws -> ResponseFixture {
    let fixture = try ResponseFixture(readsAtOnce: true)
    _ = try await fixture.store.list()
    #expect(
      fixture.store.responsesAtOnce(for: CacheKey(named: "a"), fields: [:]) == nil, "the connection is opened later")
    _ = try await fixture.disk.queues.write {}
    return fixture
  }

  private static func same(
    _ fixture: ResponseFixture, _ key: CacheKey, _ fields: HTTPFields = [:]
  ) async throws -> [FoundResponse]? {
    let found = fixture.store.responsesAtOnce(for: key, fields: fields)
    let waited = try await fixture.store.responses(for: key, fields: fields)
    #expect(found?.map(\.entry) == waited.map(\.entry))
    #expect(found?.last?.bytes == waited.last?.bytes)
    return found
  }

  @Test("a prompt read finds the same responses as one that waits")
  func sameResponses() async throws {
    let fixture = try await Self.ready()
    let keys = (0..<5).map { CacheKey(named: "\($0)") }
    try await fixture.store(Self.short, for: keys[0])
    try await fixture.store(Self.short, for: keys[1], vary: Self.language)
    fixture.advance(1)
    try await fixture.store([2, 3], for: keys[1])
    try await fixture.store(Self.short, for: keys[2], extent: Extent(0..<1_000, of: 2_000))
    try await fixture.store([], for: keys[3])
    #expect(try await Self.same(fixture, keys[0])?.map(\.bytes) == [Self.short])
    #expect(try await Self.same(fixture, keys[1])?.map(\.bytes) == [nil, [2, 3]])
    let german = try await Self.same(fixture, keys[1], [.acceptLanguage: "de"])
    #expect(german?.map(\.bytes) == [Self.short, [2, 3]])
    #expect(try await Self.same(fixture, keys[2])?.count == 1)
    #expect(try await Self.same(fixture, keys[3])?.map(\.bytes) == [[]])
    #expect(try await Self.same(fixture, keys[4])?.count == 0)
    try await fixture.store.invalidate([keys[0]])
    #expect(try await Self.same(fixture, keys[0])?.map(\.entry.head.isInvalidated) == [true])
    try await fixture.store.remove(.key(keys[0]))
    #expect(try await Self.same(fixture, keys[0])?.count == 0)
  }

  @Test("bytes that are in a file are not read at once")
  func longBytes() async throws {
    let fixture = try await Self.ready()
    let key = CacheKey(named: "long")
    try await fixture.store([UInt8](repeating: 1, count: 5_000), for: key)
    #expect(fixture.store.responsesAtOnce(for: key, fields: [:])?.map(\.bytes) == [nil])
    _ = try await fixture.store.setKept(true, for: CacheKey(named: "kept"))
    try await fixture.store(Self.short, for: CacheKey(named: "kept"))
    #expect(fixture.store.responsesAtOnce(for: CacheKey(named: "kept"), fields: [:])?.map(\.bytes) == [nil])
  }

  @Test(
    "a row that is not as it was written is left to those who wait",
    arguments: [
      "bytes = x'00'", "bytes = 1", "front = x'00'",
      "front = CAST(substr(front, 1, 60) || x'ff' || substr(front, 62) AS BLOB)", "id = id + 1",
      "storedAt = 'x'", "usedAt = 'x'", "isKept = 'x'",
    ])
  func damage(change: String) async throws {
    let fixture = try await Self.ready()
    let key = CacheKey(named: "a")
    try await fixture.store(Self.short, for: key)
    #expect(fixture.store.responsesAtOnce(for: key, fields: [:])?.count == 1)
    try fixture.disk.index.write { try $0.execute(sql: "UPDATE response SET \(change)") }
    let found = fixture.store.responsesAtOnce(for: key, fields: [:])
    #expect(found?.first?.bytes == nil)
  }

  /// Has the system drop the pages of a file from its memory. Another process does it, since closing the file in this
  /// one would end its locks.
  private static func forgetPages(of path: String) throws {
    let forget = Process()
    forget.executableURL = URL(fileURLWithPath: "/usr/bin/dd")
    forget.arguments = ["of=\(path)", "oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none"]
    try forget.run()
    forget.waitUntilExit()
    try #require(forget.terminationStatus == 0)
  }

  /// The names of the system call in SQLite, which has one of them.
  private static let reads = ["pread", "pread64"]
  private typealias Read = @convention(c) (Int32, UnsafeMutableRawPointer?, Int, off_t) -> Int

  /// Asks the system for the first byte of a file as a connection does, but not through SQLite.
  ///
  /// - Returns: `true` if it is not in memory.
  private static func isRefused(_ path: String) throws -> Bool {
    let file = open(path, O_RDONLY)
    try #require(file >= 0)
    defer { close(file) }
    let files = try #require(sqlite3_vfs_find(nil))
    let known = Self.reads.lazy.compactMap { files.pointee.xGetSystemCall(files, $0) }.first
    let read = unsafeBitCast(try #require(known), to: Read.self)
    var byte: UInt8 = 0
    pk_sqlite_read_promptly(1)
    defer { pk_sqlite_read_promptly(0) }
    return read(file, &byte, 1, 0) < 0
  }

  @Test("pages that the system does not have in memory are not waited for")
  func pagesOnDisk() async throws {
    let fixture = try ResponseFixture(readsAtOnce: true)
    let key = CacheKey(named: "a")
    try await fixture.store(Self.short, for: key)
    let path = try fixture.disk.directory.database.string
    try fixture.disk.index.withPool { _ = try $0.writeWithoutTransaction { try $0.checkpoint(.truncate) } }
    // The file whose pages tell whether this system refuses at all: it begins to read what it refuses, and on a fast disk,
    // or while the thread is held up, it has the bytes before it looks again. Locks of SQLite end when a file of the index
    // is closed, so the probe is another one.
    let probe = path + "-probe"
    try Data(repeating: 1, count: 4_096).write(to: URL(fileURLWithPath: probe))
    // The system may keep pages for a while that are being written, and a connection keeps those that it has read.
    var reader = try #require(PromptReader(path))
    var (refused, refusedProbes) = (false, 0)
    for _ in 0..<200 where !refused {
      reader = try #require(PromptReader(path))
      try Self.forgetPages(of: probe)
      if try Self.isRefused(probe) { refusedProbes += 1 }
      try Self.forgetPages(of: path)
      refused = reader.rows(of: key) == nil
    }
    #expect(refused || refusedProbes < 20, "the system refused \(refusedProbes) of 200 reads")
    #expect(try await fixture.bytes(key) == Self.short)
    #expect(reader.rows(of: key)?.map(\.bytes) == [Self.short])
  }

  /// The thread whose reads fail as those of pages on the disk do.
  private static let refusedThread = Mutex<pthread_t?>(nil)

  @Test("a read that would wait fails, and the next one that need not finds the rows")
  func refusedRead() async throws {
    let fixture = try await Self.ready()
    let key = CacheKey(named: "a")
    try await fixture.store(Self.short, for: key)
    let reader = try #require(PromptReader(try fixture.disk.directory.database.string))
    let refused = try Self.refusing { reader.rows(of: key) }
    #expect(refused == nil)
    #expect(reader.rows(of: key)?.map(\.bytes) == [Self.short])
  }

  /// Has all reads of this thread by SQLite fail with `EAGAIN`, which is what `RWF_NOWAIT` gives.
  private static func refusing<Result>(_ body: () -> Result) throws -> Result {
    let files = try #require(sqlite3_vfs_find(nil))
    let former = Self.reads.map { files.pointee.xGetSystemCall(files, $0) }
    let read: Read = { file, bytes, count, position in
      if let thread = PromptReaderTests.refusedThread.withLock({ $0 }), pthread_equal(thread, pthread_self()) != 0 {
        errno = EAGAIN
        return -1
      }
      return pread(file, bytes, count, position)
    }
    refusedThread.withLock { $0 = pthread_self() }
    for (name, call) in zip(Self.reads, former) where call != nil {
      _ = files.pointee.xSetSystemCall(files, name, unsafeBitCast(read, to: sqlite3_syscall_ptr.self))
    }
    defer {
      for (name, call) in zip(Self.reads, former) where call != nil {
        _ = files.pointee.xSetSystemCall(files, name, call)
      }
      refusedThread.withLock { $0 = nil }
    }
    return body()
  }

  @Test("readers at the same time have connections of their own, up to a limit")
  func limit() async throws {
    let fixture = try ResponseFixture()
    try await fixture.store(Self.short, for: CacheKey(named: "a"))
    let readers = PromptReaders(try fixture.disk.directory.database.string, limit: 1)
    var opened = 0
    func rows() -> Int? {
      readers.rows(of: CacheKey(named: "a")) { work in
        opened += 1
        work()
      }?.count
    }
    #expect(rows() == nil && opened == 1)
    for _ in 0..<3 { #expect(rows() == 1) }
    #expect(opened == 1)
  }

  @Test("after a connection could not be opened, no other is")
  func failure() throws {
    let readers = PromptReaders("/nowhere/at/all")
    var opened = 0
    for _ in 0..<3 {
      let found = readers.rows(of: CacheKey(named: "a")) { work in
        opened += 1
        work()
      }
      #expect(found == nil)
    }
    #expect(opened == 1)
  }
}
