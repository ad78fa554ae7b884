import Foundation
import PageTesting
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
}
