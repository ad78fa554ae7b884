import SystemPackage

/// A place in a store: a folder that somebody named, and names below it.
///
/// The folder's own path may lead through symbolic links. Below it none is followed: ``FileSystem`` opens one folder after
/// the other, each relative to the one before it, so that a link that takes a folder's place at any moment leads nowhere.
package struct StorePath: Hashable, Sendable, CustomStringConvertible {
  package let root: FilePath
  /// Single components, the outermost first.
  package let names: [String]

  package init(_ root: FilePath, _ names: [String] = []) { (self.root, self.names) = (root, names) }

  package func appending(_ name: String) -> StorePath { StorePath(root, names + [name]) }

  /// The same place with more at the end of its name.
  package func extended(by text: String) -> StorePath {
    guard let last = names.last else { return StorePath(FilePath(string + text)) }
    return StorePath(root, names.dropLast() + [last + text])
  }

  /// The folder that this is in; of the root, the root.
  package var folder: StorePath { StorePath(root, Array(names.dropLast())) }

  package var lastName: String { names.last ?? root.lastComponent?.string ?? "" }

  package var path: FilePath { names.reduce(root) { $0.appending($1) } }
  package var string: String { path.string }
  package var description: String { string }
}
