import SystemPackage

/// A path in a store: a root folder, which the caller named, and names below it.
///
/// The root's path may lead through symbolic links. No link below it is followed: ``FileSystem`` opens one folder after
/// the other, each relative to the one before, so that a link that replaces a folder at any moment has no effect.
package struct StorePath: Hashable, Sendable, CustomStringConvertible {
  package let root: FilePath
  /// The names below the root, the outermost first.
  package let names: [String]

  package init(_ root: FilePath, _ names: [String] = []) { (self.root, self.names) = (root, names) }

  package func appending(_ name: String) -> StorePath { StorePath(root, names + [name]) }

  /// The path with a text appended to its last name.
  package func extended(by text: String) -> StorePath {
    guard let last = names.last else { return StorePath(FilePath(string + text)) }
    return StorePath(root, names.dropLast() + [last + text])
  }

  /// The folder of this path; the root for the root itself.
  package var folder: StorePath { StorePath(root, Array(names.dropLast())) }

  package var lastName: String { names.last ?? root.lastComponent?.string ?? "" }

  package var path: FilePath { names.reduce(root) { $0.appending($1) } }
  package var string: String { path.string }
  package var description: String { string }
}
