#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A new, empty folder in the system's temporary directory, removed with everything in it when nobody holds
/// this object any more.
///
/// Swift lets go of an object after its last use, which may be before the end of the scope: keep it in a property
/// of the test suite, or use ``TemporaryDirectory/with(_:)``.
public final class TemporaryDirectory: Sendable {
  /// Absolute, without a slash at its end.
  public let path: String

  /// - Parameter prefix: how its name begins.
  public init(prefix: String = "pagekit") throws {
    let parent = FileManager.default.temporaryDirectory.path
    let folder = (parent.hasSuffix("/") ? parent : parent + "/") + "\(prefix)-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    path = folder
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The path of a file in it, which need not exist.
  public func file(_ name: String) -> String {
    "\(path)/\(name)"
  }

  /// Runs `body` with a new folder, which is there until `body` has ended.
  public nonisolated(nonsending) static func with<Result>(
    _ body: nonisolated(nonsending) (TemporaryDirectory) async throws -> Result
  ) async throws -> Result {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    return try await body(directory)
  }
}
