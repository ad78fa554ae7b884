import Foundation

/// Notices that one of some files was written, or that another took its place. It looks; so it works on every file
/// system, and needs nothing of the editor.
struct FileWatch {
  private struct Stamp: Hashable {
    let device: UInt64?
    let inode: UInt64?
    let size: Int64?
    let modified: Date?
  }

  private let paths: [String]
  private let stamps: [Stamp?]

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

  private static func stamp(of path: String) -> Stamp? {
    guard let found = try? FileManager.default.attributesOfItem(atPath: path) else { return nil }
    return Stamp(
      device: (found[.systemNumber] as? NSNumber)?.uint64Value,
      inode: (found[.systemFileNumber] as? NSNumber)?.uint64Value,
      size: (found[.size] as? NSNumber)?.int64Value, modified: found[.modificationDate] as? Date)
  }
}
