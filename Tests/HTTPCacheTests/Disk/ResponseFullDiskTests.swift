import Foundation
import HTTPTransport
import PageTesting
import TestSupport
import Testing

@testable import Blobs
@testable import HTTPCache

/// Where really nothing is left on the file system.
@Suite(.enabled(if: SmallDisk.isAvailable, "no file system can be mounted"))
struct ResponseFullDiskTests {
  @Test func aFullDiskIsAnErrorInWordsAndWhatIsStoredCanBeReadAndRemoved() async throws {
    let disk = try #require(SmallDisk())
    defer { withExtendedLifetime(disk) {} }
    let fixture = try ResponseFixture(.memory)
    let store = try ResponseStore(at: ResponseDirectory(disk.path + "/cache"), options: .init(lowSpace: 0))
    for number in 0..<8 {
      let bytes = [UInt8](repeating: UInt8(number), count: 100_000)
      try await fixture.store(bytes, for: CacheKey(named: "\(number)"), of: store)
    }
    _ = try await store.setKept(true, for: CacheKey(named: "7"))
    try disk.fill()
    let error = await #expect(throws: StoreError.self) {
      try await fixture.store([UInt8](repeating: 9, count: 500_000), for: CacheKey(named: "new"), of: store)
    }
    #expect(error?.description.hasPrefix("the disk is full: ") == true)
    #expect(try await fixture.bytes(CacheKey(named: "3"), of: store)?.count == 100_000)
    _ = try await store.remove(.key(CacheKey(named: "3")))
    #expect(try await store.list().count == 7)
    try disk.fill()
    // It gives way although not a byte is free.
    let low = try ResponseStore(at: ResponseDirectory(disk.path + "/cache"), options: .init(lowSpace: 300_000))
    try await fixture.store([UInt8](repeating: 9, count: 10_000), for: CacheKey(named: "new"), of: low)
    #expect(try await fixture.bytes(CacheKey(named: "new"), of: low)?.count == 10_000)
    #expect(try await fixture.bytes(CacheKey(named: "7"), of: low)?.count == 100_000)
    try disk.fill()
    try await low.setCapacity(0)
    #expect(try await fixture.names(of: low) == ["7"])
  }

  @Test("a store on a full disk says so, keeps its files as they were, and can write again when there is room")
  func writing() throws {
    let disk = try #require(SmallDisk())
    defer { withExtendedLifetime(disk) {} }
    let store = StoreDirectory(disk.path + "/store")
    #expect(store.writeProblem() == .notWritable(path: store.path + "/probe", reason: "No such file or directory"))
    try store.write([UInt8](repeating: 1, count: 50_000), to: ["folders", "a.json"])
    #expect(store.writeProblem() == nil)
    try disk.fill()
    #expect(store.writeProblem() == .diskFull(path: store.path))
    #expect(throws: StoreError.diskFull(path: store.path + "/folders/a.json")) {
      try store.write([UInt8](repeating: 2, count: 50_000), to: ["folders", "a.json"])
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: store.path + "/folders")
    #expect(names == ["a.json"])
    #expect(FileManager.default.contents(atPath: store.path + "/folders/a.json") == Data(repeating: 1, count: 50_000))
    unlink(disk.path + "/filling")
    #expect(store.writeProblem() == nil)
    #expect(try FileManager.default.contentsOfDirectory(atPath: store.path) == ["folders"])
  }
}
