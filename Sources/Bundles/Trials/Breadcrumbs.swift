import DiskStorage
import Foundation
import HTTPTransport
import SystemPackage

/// The files that say which pages of releases on trial are being opened: a file of the folder `openings` exists and is
/// locked while its page opens. One that is not locked was left by a process that ended meanwhile.
///
/// They are not flushed to the disk: after a power failure, nothing is known of a page that was being opened.
struct Breadcrumbs: Sendable {
  /// The opening that a file stands for.
  struct Content: Codable, Hashable, Sendable {
    let release: Int64
    /// The MD5 of the page's bundle.
    let page: MD5Digest
    let url: String
  }

  /// The size of a file in bytes; a longer one is not read.
  private static let byteLimit = 16 << 10

  private let directory: StoreDirectory

  init(in directory: StoreDirectory) { self.directory = directory }

  /// Makes the file of an opening.
  ///
  /// - Returns: `nil` if another process took the file for one that was left.
  /// - Throws: ``StoreError``.
  func leave(_ content: Content) throws -> Breadcrumb? {
    let bytes = Array(try JSONEncoder().encode(content))
    try directory.makeWay(for: .folder, at: directory.openings)
    if FileSystem.status(directory.openings) == nil { try FileSystem.makeFolder(directory.openings) }
    let path = directory.openings.appending(UUID().uuidString)
    let file = try directory.make(own: path)
    guard flock(file.rawValue, LOCK_EX | LOCK_NB) == 0 else {
      try? file.close()
      return nil
    }
    let breadcrumb = Breadcrumb(file, at: path)
    try FileSystem.writeAll(bytes, to: file, path: path)
    return breadcrumb
  }

  /// Calls the body with each opening that a process left, and removes its file. The name of the file names the opening.
  ///
  /// - Throws: what the body throws; the file then stays.
  func takeLeft(_ body: (String, Content) async throws -> Void) async throws {
    for name in FileSystem.names(in: directory.openings) {
      let path = directory.openings.appending(name)
      guard FileSystem.status(path)?.kind == .file, let file = try? FileSystem.open(path, .readOnly) else { continue }
      guard flock(file.rawValue, LOCK_EX | LOCK_NB) == 0 else {
        try? file.close()
        continue
      }
      defer { FileSystem.closeLocked(file) }
      // A file without content was left before its page began to run.
      let bytes = FileSystem.contents(of: path, upTo: Self.byteLimit) ?? []
      if let content = try? JSONDecoder().decode(Content.self, from: Data(bytes)) { try await body(name, content) }
      FileSystem.remove(path)
    }
  }
}

/// The file of an opening in this process. It is removed when the opening has ended.
final class Breadcrumb: Sendable {
  private let file: FileDescriptor
  private let path: StorePath

  fileprivate init(_ file: FileDescriptor, at path: StorePath) { (self.file, self.path) = (file, path) }

  /// The name of the opening.
  var name: String { path.lastName }

  deinit {
    FileSystem.remove(path)
    FileSystem.closeLocked(file)
  }
}
