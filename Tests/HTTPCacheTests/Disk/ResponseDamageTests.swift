import Foundation
import HTTPTransport
import PageTesting
import SystemPackage
import TestSupport
import Testing

@testable import Blobs
@testable import HTTPCache

/// Files that were changed behind the store's back.
struct ResponseDamageTests {
  enum Harm: CaseIterable {
    case removed, cut, longer, flipped, folderInstead

    func strike(_ path: String) throws {
      let bytes = try #require(FileManager.default.contents(atPath: path))
      switch self {
      case .removed: try Damage.remove(path)
      case .cut: try bytes.dropLast().write(to: URL(fileURLWithPath: path))
      case .longer: try (bytes + [0]).write(to: URL(fileURLWithPath: path))
      case .flipped:
        var bytes = bytes
        bytes[bytes.endIndex - 1] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
      case .folderInstead:
        try Damage.remove(path)
        try Damage.makeFolder(path)
      }
    }
  }

  @Test("short bytes are read with their entry, if they are as they were stored")
  func readAhead() async throws {
    let fixture = try ResponseFixture(.disk)
    let (short, long) = ([UInt8](repeating: 1, count: 5_000), [UInt8](repeating: 2, count: 70_000))
    let entry = try #require(try await fixture.store(short, for: CacheKey(named: "short")))
    try await fixture.store(long, for: CacheKey(named: "long"))
    #expect(try await fixture.store.responses(for: entry.key, fields: [:]).map(\.bytes) == [short])
    #expect(try await fixture.store.responses(for: CacheKey(named: "long"), fields: [:]).map(\.bytes) == [nil])
    try Harm.flipped.strike(try fixture.path(of: entry))
    #expect(try await fixture.store.responses(for: entry.key, fields: [:]).map(\.bytes) == [nil])
    #expect(try await fixture.store.body(of: entry) == nil)
  }

  @Test(arguments: Harm.allCases, [100, 10_000, 1_000_000])
  func aDamagedFileIsAMissAndTheEntryGoes(harm: Harm, count: Int) async throws {
    let fixture = try ResponseFixture()
    var generator = SeededGenerator(seed: 4)
    let bytes = generator.bytes(count)
    // Short ones that are not kept have no file.
    _ = try await fixture.store.setKept(ResponseStore.isInline(Int64(count)), for: CacheKey(named: "a"))
    let entry = try #require(try await fixture.store(bytes, for: CacheKey(named: "a")))
    try harm.strike(try fixture.path(of: entry))
    #expect(try await fixture.store.body(of: entry) == nil)
    #expect(try await fixture.store.list().isEmpty)
    if harm != .folderInstead {
      #expect(try await fixture.store(bytes, for: entry.key) != nil)
      #expect(try await fixture.bytes(entry.key) == bytes)
    }
  }

  @Test func aDamagedBodyTakesAllThatShareItAndIsWrittenAnew() async throws {
    let fixture = try ResponseFixture()
    let bytes = [UInt8](repeating: 5, count: 10_000)
    let entry = try #require(try await fixture.store(bytes, for: CacheKey(named: "a")))
    try await fixture.store(bytes, for: CacheKey(named: "b"))
    try Harm.flipped.strike(try fixture.path(of: entry))
    #expect(try await fixture.store.body(of: entry) == nil)
    #expect(try await fixture.store.list().isEmpty)
    #expect(try fixture.files(in: "cache/responses") == ["swept"])
  }

  @Test func aBodyThatIsStoredAgainReplacesTheDamagedFile() async throws {
    let fixture = try ResponseFixture()
    let bytes = [UInt8](repeating: 5, count: 10_000)
    let first = try #require(try await fixture.store(bytes, for: CacheKey(named: "a")))
    try Harm.flipped.strike(try fixture.path(of: first))
    try await fixture.store(bytes, for: CacheKey(named: "b"))
    #expect(try await fixture.bytes(CacheKey(named: "a")) == bytes)
    #expect(try await fixture.bytes(CacheKey(named: "b")) == bytes)
  }

  @Test func aLongBodyThatChangesWhileItIsReadIsNotReadOn() async throws {
    let fixture = try ResponseFixture()
    let entry = try #require(
      try await fixture.store([UInt8](repeating: 5, count: 1_000_000), for: CacheKey(named: "a")))
    let body = try #require(try await fixture.store.body(of: entry))
    #expect(try body.read(at: 0, upTo: 100).count == 100)
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: try fixture.path(of: entry)))
    try file.seek(toOffset: 500_000)
    try file.write(contentsOf: Data([6]))
    try file.close()
    #expect(throws: StoreError.self) { try body.read(at: 500_000, upTo: 100) }
  }

  @Test func aBodyCanBeReadToItsEndAlthoughItIsRemovedMeanwhile() async throws {
    let fixture = try ResponseFixture()
    let bytes = [UInt8](repeating: 5, count: 1_000_000)
    let entry = try #require(try await fixture.store(bytes, for: CacheKey(named: "a")))
    let body = try #require(try await fixture.store.body(of: entry))
    _ = try await fixture.store.remove(.all)
    #expect(try body.read(at: 0, upTo: .max) == bytes)
  }

  @Test func onlyAFileThatIsKnownToBeDamagedGoes() {
    for error in [Errno.tooManyOpenFiles, .tooManyOpenFilesInSystem, .permissionDenied, .noMemory] {
      #expect(StoredResponseBody.tellsNothing(error))
    }
    for error in [Errno.noSuchFileOrDirectory, .ioError, .isDirectory, .notDirectory] {
      #expect(!StoredResponseBody.tellsNothing(error))
    }
  }

  @Test func tenThousandReadsLeaveNoDescriptorOpen() async throws {
    let fixture = try ResponseFixture()
    let entries = try await [100, 10_000, 300_000].asyncMap { count in
      try #require(try await fixture.store([UInt8](repeating: 1, count: count), for: CacheKey(named: "\(count)")))
    }
    let gone = try #require(try await fixture.store([UInt8](repeating: 2, count: 5_000), for: CacheKey(named: "gone")))
    try Damage.remove(try fixture.path(of: gone))
    func links() throws -> [String] {
      let folder = fixture.folder.path
      return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { name in
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
      }.filter { $0.hasPrefix(folder + "/cache/responses/") }
    }
    var misses = 0
    for round in 0..<10_000 {
      let entry = round % 100 == 99 ? entries[2] : entries[round % 2]
      if try await fixture.store.body(of: entry) == nil { misses += 1 }
    }
    #expect(misses == 0)
    for _ in 0..<10 { #expect(try await fixture.store.body(of: gone) == nil) }
    // The last one that was checked is let go of on the store's own thread.
    let deadline = ContinuousClock.now + .seconds(60)
    while try links() != [], ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(10)) }
    #expect(try links() == [])
  }
}

extension Sequence {
  func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
    var values: [Value] = []
    for element in self { values.append(try await transform(element)) }
    return values
  }
}
