import Foundation
import HTTPTransport
import SystemPackage

/// The advisory lock between the processes that use a store.
///
/// A writer holds it shared from the check that a blob exists to the commit that names it; the collector holds it
/// exclusively while it removes files.
package struct StoreLock: Sendable {
  package let path: StorePath

  package init(path: StorePath) { self.path = path }

  package enum Mode {
    case shared
    case exclusive
  }

  /// Waits for the lock, blocking the thread, and runs the body while holding it.
  package func with<Result>(_ mode: Mode, _ body: () throws -> Result) throws -> Result {
    // An flock belongs to the open file, so each holder opens its own.
    let file = try opened()
    defer { FileSystem.closeLocked(file) }
    let operation = mode == .shared ? LOCK_SH : LOCK_EX
    while flock(file.rawValue, operation) != 0 {
      guard errno == EINTR else {
        throw StoreError.notWritable(path: path.string, reason: Errno(rawValue: errno).description)
      }
    }
    return try body()
  }

  private func opened() throws -> FileDescriptor {
    // A folder stays in place: a person may have made it to prevent storing.
    if FileSystem.status(path)?.kind == .other {
      try FileSystem.rename(path, to: path.extended(by: ".foreign-\(UUID().uuidString)"))
    }
    return try FileSystem.open(
      path, .readWrite, options: .create, permissions: [.ownerReadWrite, .groupRead, .otherRead])
  }
}

/// The lock of a store that a host uses alone. Two hosts with one store publish in turn, and evict each other's responses.
package final class StoreOwnership: Sendable {
  /// The lock file, for as long as the process runs; `nil` if it could not be opened.
  private let file: FileDescriptor?
  /// Says that another host uses the store; `nil` if none does.
  package let problem: String?

  package init(_ directory: StoreDirectory) {
    file = try? FileSystem.open(
      directory.host, .readWrite, options: .create, permissions: [.ownerReadWrite, .groupRead, .otherRead])
    guard let file, flock(file.rawValue, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK else {
      problem = nil
      return
    }
    problem =
      "another renderhost uses the store \(directory.path): both publish and evict in it; give each a --store of its own"
  }

  deinit {
    if let file { FileSystem.closeLocked(file) }
  }
}
