import Foundation
import HTTPTransport
import PageTesting
import Testing

@testable import DiskStorage
@testable import HTTPCache

/// A file system of three megabytes, for who may mount one.
private final class SmallDisk {
  let path: String

  init?() {
    guard geteuid() == 0 else { return nil }
    path = NSTemporaryDirectory() + "pagekit-small-\(UUID().uuidString)"
    guard mkdir(path, 0o755) == 0 else { return nil }
    guard Self.run("mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", path) else {
      rmdir(path)
      return nil
    }
  }

  deinit {
    _ = Self.run("umount", "-l", path)
    rmdir(path)
  }

  /// Takes every byte that is free.
  func fill() throws {
    _ = FileManager.default.createFile(atPath: path + "/filling", contents: nil)
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path + "/filling"))
    for size in [65_536, 4_096, 1] {
      while (try? file.write(contentsOf: Data(count: size))) != nil {}
    }
    try file.close()
  }

  private static func run(_ arguments: String...) -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }

  static let isAvailable = SmallDisk() != nil
}

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
}
