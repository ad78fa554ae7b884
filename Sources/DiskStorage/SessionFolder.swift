import Foundation
import HTTPTransport
import SystemPackage

/// A temporary folder of this process, removed with the last who holds it.
package final class SessionFolder: Sendable {
  package let folder: StorePath
  package var path: String { folder.string }
  /// Locked for as long as the folder is in use, so that others can tell what a killed process has left.
  private let lock: FileDescriptor

  private static let prefix = "pagekit-session-"

  /// - Throws: ``StoreError/notWritable(path:reason:)`` where there is no place for temporary files either.
  package init() throws {
    let parent = StorePath(FilePath(FileManager.default.temporaryDirectory.path))
    Self.removeAbandoned(in: parent)
    folder = parent.appending(Self.prefix + UUID().uuidString)
    try FileSystem.makeFolder(folder, permissions: 0o700)
    // Locked under another name, so that nobody takes it for abandoned before it is.
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
