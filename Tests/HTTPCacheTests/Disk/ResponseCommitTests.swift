import GRDB
import HTTPTransport
import Synchronization
import TestSupport
import Testing

@testable import HTTPCache

/// Responses that come at the same time.
struct ResponseCommitTests {
  /// Calls the body with each of the numbers at once, while another process writes, so that all of them wait.
  private static func whileBusy<Value: Sendable>(
    _ fixture: ResponseFixture, _ numbers: Range<Int>, _ body: @escaping @Sendable (Int) async -> Value
  ) async throws -> [Value] {
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let other = try DatabaseQueue(path: fixture.folder.file("cache/responses.sqlite"), configuration: configuration)
    try await other.writeWithoutTransaction { try $0.beginTransaction(.immediate) }
    let tasks = numbers.map { number in Task { await body(number) } }
    for _ in 0..<200 { await Task { await Task.yield() }.value }
    try await other.writeWithoutTransaction { try $0.commit() }
    var values: [Value] = []
    for task in tasks { values.append(await task.value) }
    return values
  }

  @Test("responses that wait are stored in few transactions")
  func batches() async throws {
    let fixture = try ResponseFixture()
    let other = try fixture.reopened()
    let before = other.changeCount()
    let stored = try await Self.whileBusy(fixture, 0..<40) { number in
      try? await fixture.store([UInt8(number)], for: CacheKey(named: "\(number)"))
    }
    #expect(!stored.contains(nil))
    #expect(other.changeCount() - before <= 10)
    for number in 0..<40 { #expect(try await fixture.bytes(CacheKey(named: "\(number)")) == [UInt8(number)]) }
    #expect(try await other.usage().entries == 40)
  }

  @Test("a response that cannot be stored keeps none of the others from it")
  func failure() async throws {
    let fixture = try ResponseFixture()
    // The index is made now: foreign files are removed then.
    #expect(try await fixture.store.list().isEmpty)
    @Sendable func bytes(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 5_000) }
    let folder = try fixture.disk.directory.files(isKept: false).body(try ContentDigests(of: bytes(7)).sha256).folder
    try Damage.overwrite(folder.string, with: "a file in the place of a folder")
    let stored = try await Self.whileBusy(fixture, 0..<20) { number in
      try? await fixture.store(bytes(number), for: CacheKey(named: "\(number)"))
    }
    #expect((0..<20).filter { stored[$0] == nil } == [7])
    #expect(try await fixture.bytes(CacheKey(named: "7")) == nil)
    #expect(try await fixture.bytes(CacheKey(named: "19")) == bytes(19))
    #expect(try await fixture.store.list().count == 19)
  }

  @Test("responses that wait and replace each other, or have room for a few of them, leave no files behind")
  func replacing() async throws {
    let fixture = try ResponseFixture(capacity: 40_000)
    _ = try await fixture.store.setKept(true, for: CacheKey(named: "kept"))
    let stored = try await Self.whileBusy(fixture, 0..<40) { number in
      let key = CacheKey(named: number % 13 == 12 ? "kept" : "\(number % 8)")
      return try? await fixture.store([UInt8](repeating: UInt8(number), count: 9_000), for: key)
    }
    #expect(!stored.contains(nil))
    let entries = try await fixture.store.list()
    #expect(entries.count { $0.isKept } == 1)
    #expect(entries.count { !$0.isKept } == 4)
    for entry in entries { #expect(try await fixture.store.body(of: entry) != nil) }
    #expect(try fixture.files(in: "cache/responses/bodies").count == 4)
    for part in ["entries", "bodies"] { #expect(try fixture.files(in: "durable/kept/\(part)").count == 1) }
  }

  // MARK: Room

  @Test("the file system is asked for its room once a second, or after half of it was taken, or if there is little")
  func room() {
    let space = FreeSpace()
    var looks = 0
    func missing(_ size: Int64, at now: Double, free: Int64) -> Int64 {
      space.missing(for: size, above: 1_000, at: now) {
        looks += 1
        return free
      }
    }
    #expect(missing(500, at: 10, free: 1_001_500) == -1_000_000)
    for _ in 0..<29 { #expect(missing(500, at: 10.9, free: 0) == 0) }
    #expect(looks == 1)
    #expect(missing(500, at: 10.9, free: 0) == 1_500)
    #expect(missing(500, at: 10.9, free: 1_500) == 0)
    #expect(missing(500, at: 10.9, free: 9_000_000) < 0)
    #expect(looks == 4)
    #expect(missing(500, at: 11.9, free: 9_000_000) < 0)
    #expect(missing(500, at: 11.8, free: 9_000_000) < 0, "the clock went back")
    #expect(missing(.max, at: 11.8, free: 9_000_000) > 0)
    #expect(looks == 7)
  }
}
