import Foundation
import HTTPTransport
import SystemPackage

/// A temporary folder of this process, which is removed when its last owner releases it.
package final class SessionFolder: Sendable {
  package let folder: StorePath
  package var path: String { folder.string }
  /// Locked while the folder is in use, so that other processes recognise folders of killed ones.
  private let lock: FileDescriptor

  private static let prefix = "pagekit-session-"

  /// - Throws: ``StoreError/notWritable(path:reason:)`` if the system's temporary folder cannot be written.
  package init() throws {
    let parent = StorePath(FilePath(FileManager.default.temporaryDirectory.path))
    Self.removeAbandoned(in: parent)
    folder = parent.appending(Self.prefix + UUID().uuidString)
    try FileSystem.makeFolder(folder, permissions: 0o700)
    // Locked under another name first, so that no other process finds it unlocked and removes the folder.
    let (made, named) = (folder.appending("session.new"), folder.appending("session"))
    lock = try FileSystem.open(made, .readWrite, options: .create, permissions: [.ownerReadWrite])
    flock(lock.rawValue, LOCK_EX | LOCK_NB)
    try FileSystem.rename(made, to: named)
  }

  deinit {
    FileSystem.removeAll(folder)
    FileSystem.closeLocked(lock)
  }

  /// Removes the folders of processes that were killed.
  private static func removeAbandoned(in parent: StorePath) {
    for name in FileSystem.names(in: parent) where name.hasPrefix(prefix) {
      let folder = parent.appending(name)
      guard let lock = try? FileSystem.open(folder.appending("session"), .readWrite) else { continue }
      if flock(lock.rawValue, LOCK_EX | LOCK_NB) == 0 { FileSystem.removeAll(folder) }
      FileSystem.closeLocked(lock)
    }
  }
}
