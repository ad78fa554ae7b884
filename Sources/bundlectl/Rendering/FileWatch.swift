import Foundation
import PageKit

/// Detects that a file was written or replaced. It polls, and therefore works on every file system and with every
/// editor.
struct FileWatch {
  private let paths: [String]
  private let stamps: [FileStatus?]

  /// Records the state of the files. Read them afterwards, so that no change is missed.
  init(_ paths: [String]) {
    self.paths = paths
    stamps = paths.map(Self.stamp)
  }

  /// Returns when a file has changed and the first file exists.
  func change() async throws {
    while true {
      try await Task.sleep(for: .milliseconds(100))
      // An editor may remove a file briefly.
      guard let first = paths.first, Self.stamp(of: first) != nil else { continue }
      if paths.map(Self.stamp) != stamps { return }
    }
  }

  private static func stamp(of path: String) -> FileStatus? {
    FileStatus(ofLink: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)
  }
}
