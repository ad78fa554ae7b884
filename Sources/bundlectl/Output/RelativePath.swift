import Foundation

/// Paths from one place to another, for files that name each other.
enum RelativePath {
  /// - Parameters:
  ///   - file: the path of a file.
  ///   - target: the path of a file or folder.
  /// - Returns: the path to the target from the file's folder; empty if the target is that folder.
  static func from(folderOf file: String, to target: String) -> String {
    let target = URL(fileURLWithPath: target).standardizedFileURL.pathComponents
    let start = URL(fileURLWithPath: file).standardizedFileURL.deletingLastPathComponent().pathComponents
    let shared = zip(target, start).prefix { $0 == $1 }.count
    return (Array(repeating: "..", count: start.count - shared) + target.dropFirst(shared)).joined(separator: "/")
  }
}
