import Foundation
import PageKit

/// Notices that one of some files was written, or that another took its place. It looks; so it works on every file
/// system, and needs nothing of the editor.
struct FileWatch {
  private let paths: [String]
  private let stamps: [FileStatus?]

  /// Takes note of the files as they are now. Read them afterwards: so no change is missed.
  init(_ paths: [String]) {
    self.paths = paths
    stamps = paths.map(Self.stamp)
  }

  /// Returns when something differs and the first file is there.
  func change() async throws {
    while true {
      try await Task.sleep(for: .milliseconds(100))
      // An editor may take a file away for a moment.
      guard let first = paths.first, Self.stamp(of: first) != nil else { continue }
      if paths.map(Self.stamp) != stamps { return }
    }
  }

  private static func stamp(of path: String) -> FileStatus? {
    FileStatus(ofLink: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)
  }
}
