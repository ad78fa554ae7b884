import ArgumentParser
import Foundation
import PageKit
import Synchronization
import UnixSignals

/// A folder for one run's store, cache, cookies and storage, which is empty at its beginning and gone at its end.
enum EphemeralStore {
  private static let present = Mutex<URL?>(nil)
  private static let watcher = Mutex<Task<Void, Never>?>(nil)

  /// Takes the folder away at once: for an end of the process at which nothing else of the command runs.
  static func remove() {
    if let folder = present.withLock({ $0.take() }) { try? FileManager.default.removeItem(at: folder) }
  }

  /// - Parameters:
  ///   - isWanted: with `false`, `standing` is used instead.
  /// - Throws: ``CommandError`` if no folder can be made, and what `body` throws.
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
      throw CommandError("no temporary folder can be made at \(folder.path): \(error.localizedDescription)")
    }
    present.withLock { $0 = folder }
    defer { remove() }
    // A reader that goes away must not end the process before the folder is gone: the next write fails instead.
    let lostReaders = await UnixSignalsSequence(trapping: .sigpipe)
    defer { withExtendedLifetime(lostReaders) {} }
    return try await body(StoreDirectory(folder.path))
  }

  /// From the first call on, for as long as the process lives, also between one folder and the next: a signal takes the
  /// folder away and ends the process. A script may not be waited for, and nothing of the run is wanted any more.
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
