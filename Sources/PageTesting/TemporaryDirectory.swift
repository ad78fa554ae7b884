#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A new, empty folder in the system's temporary directory. It is removed with its contents when the object is
/// deallocated.
///
/// Swift may deallocate an object after its last use, before the end of the scope: keep it in a property of the test
/// suite, or use ``TemporaryDirectory/with(_:)``.
package final class TemporaryDirectory: Sendable {
  /// The absolute path, without a trailing slash.
  package let path: String

  /// Creates the folder.
  ///
  /// - Parameter prefix: the prefix of the folder's name.
  /// - Throws: the error of the file system.
  package init(prefix: String = "pagekit") throws {
    let parent = FileManager.default.temporaryDirectory.path
    let folder = (parent.hasSuffix("/") ? parent : parent + "/") + "\(prefix)-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    path = folder
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Returns the path of a file in the folder. The file need not exist.
  package func file(_ name: String) -> String {
    "\(path)/\(name)"
  }

  /// Runs `body` with a new folder, and removes the folder afterwards.
  ///
  /// - Throws: the error of the file system, and errors of `body`.
  package nonisolated(nonsending) static func with<Result>(
    _ body: nonisolated(nonsending) (TemporaryDirectory) async throws -> Result
  ) async throws -> Result {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    return try await body(directory)
  }
}
