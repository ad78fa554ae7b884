import Foundation
import PageTesting
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import Blobs

struct DatabaseKeeperTests {
  private final class Opened: Sendable {
    let text: String

    init(_ path: StorePath) { text = String(decoding: FileSystem.contents(of: path, upTo: 100) ?? [], as: UTF8.self) }
  }

  /// Returns `true` if somebody waits for the lock.
  private static func isAwaited(_ lock: StoreLock) throws -> Bool {
    let inode = try #require(FileSystem.status(lock.path)?.inode)
    let locks = try String(contentsOfFile: "/proc/locks", encoding: .utf8)
    return locks.split(separator: "\n").contains { $0.contains("-> FLOCK") && $0.contains(":\(inode) ") }
  }

  @Test("a database that another process has replaced before the lock was free is opened, and not put aside")
  func replacedByAnother() async throws {
    let folder = try TemporaryDirectory()
    let root = FilePath(folder.path)
    let path = StorePath(root, ["database"])
    let lock = StoreLock(path: StorePath(root, ["lock"]))
    try Damage.overwrite(path.string, with: "damaged")
    let keeper = DatabaseKeeper(of: path) { _ in Opened(path) }
    let damaged = try keeper.current()
    #expect(damaged.text == "damaged")
    try lock.with(.exclusive) {
      Thread.detachNewThread {
        try? keeper.replace(damaged, holding: lock) { Issue.record("the other's database is put aside") }
      }
      let deadline = ContinuousClock.now + .seconds(60)
      while try !Self.isAwaited(lock), ContinuousClock.now < deadline { usleep(1_000) }
      try FileSystem.rename(path, to: StorePath(root, ["aside"]))
      try Damage.overwrite(path.string, with: "new")
    }
    try await eventually("the new one is opened") { keeper.inPlace?.text == "new" }
    #expect(keeper.generation == 1)
  }

  private struct Refused: Error {}

  @Test("a replacement that fails leaves no usable database, and the next one replaces it", arguments: [true, false])
  func failedReplacement(_ failsToPutAside: Bool) throws {
    let folder = try TemporaryDirectory()
    let root = FilePath(folder.path)
    let (path, aside) = (StorePath(root, ["database"]), StorePath(root, ["aside"]))
    let lock = StoreLock(path: StorePath(root, ["lock"]))
    try Damage.overwrite(path.string, with: "damaged")
    let mayOpen = Mutex(true)
    let keeper = DatabaseKeeper(of: path) { _ in
      guard mayOpen.withLock(\.self) else { throw Refused() }
      return Opened(path)
    }
    let damaged = try keeper.current()
    mayOpen.withLock { $0 = failsToPutAside }
    #expect(throws: Refused.self) {
      try keeper.replace(damaged, holding: lock) {
        if failsToPutAside { throw Refused() }
        try FileSystem.rename(path, to: aside)
      }
    }
    // Operations under way go on with the former database; others find none, and nothing was renewed.
    #expect(keeper.present == nil)
    #expect(keeper.latest === damaged)
    #expect(keeper.generation == 0)
    mayOpen.withLock { $0 = true }
    if failsToPutAside {
      try keeper.replace(damaged, holding: lock) { try FileSystem.rename(path, to: aside) }
    } else {
      #expect(try keeper.current() !== damaged)
    }
    #expect(keeper.present != nil && keeper.present !== damaged)
    #expect(keeper.generation == 1)
  }
}
