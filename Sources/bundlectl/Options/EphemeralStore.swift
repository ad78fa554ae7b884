import ArgumentParser
import Foundation
import PageKit
import Synchronization
import UnixSignals

/// A temporary folder for the store, cache, cookies and storage of one run.
enum EphemeralStore {
  private static let present = Mutex<URL?>(nil)
  private static let watcher = Mutex<Task<Void, Never>?>(nil)

  /// Removes the folder at once, for an end of the process without other clean-up.
  static func remove() {
    if let folder = present.withLock({ $0.take() }) { remove(folder) }
  }

  /// Removes a folder in which work that nobody waits for, such as opening a cache, may still make files.
  static func remove(_ folder: URL) {
    // Whoever makes files by their paths finds nothing from here on.
    let aside = folder.appendingPathExtension("removed")
    try? FileManager.default.moveItem(at: folder, to: aside)
    for _ in 0..<removals {
      for place in [aside, folder] { try? FileManager.default.removeItem(at: place) }
      guard [aside, folder].contains(where: { FileManager.default.fileExists(atPath: $0.path) }) else { return }
      usleep(removalPause)
    }
  }

  private static let removals = 50
  private static let removalPause: UInt32 = 10_000

  /// - Parameters:
  ///   - isWanted: pass `false` to use `standing` instead.
  /// - Throws: ``CommandError`` if no folder can be created, and errors of `body`.
  static func using<Result: Sendable>(
    if isWanted: Bool, else standing: StoreDirectory, _ body: (StoreDirectory) async throws -> Result
  ) async throws -> Result {
    guard isWanted else { return try await body(standing) }
    await endAtSignals()
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bundlectl-\(UUID().uuidString)")
    do {
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw CommandError("the temporary folder \(folder.path) cannot be created: \(error.plainReason)")
    }
    present.withLock { $0 = folder }
    defer { remove() }
    // A closed pipe must not end the process before the folder is removed: the next write fails instead.
    let lostReaders = await UnixSignalsSequence(trapping: .sigpipe)
    defer { withExtendedLifetime(lostReaders) {} }
    return try await body(StoreDirectory(folder.path))
  }

  /// From the first call until the process ends, a signal removes the folder and ends the process, without waiting for
  /// scripts.
  private static func endAtSignals() async {
    guard watcher.withLock({ $0 == nil }) else { return }
    let interruption = await Interruption()
    watcher.withLock { watcher in
      watcher = Task {
        guard await interruption.signal() else { return }
        remove()
        _exit(Interruption.exitCode.rawValue)
      }
    }
  }
}
