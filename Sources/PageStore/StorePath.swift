import SystemPackage

/// A place in a store: a folder that somebody named, and names below it.
///
/// The folder's own path may lead through symbolic links. Below it none is followed: ``FileSystem`` opens one folder after
/// the other, each relative to the one before it, so that a link that takes a folder's place at any moment leads nowhere.
struct StorePath: Hashable, Sendable, CustomStringConvertible {
  let root: FilePath
  /// Single components, the outermost first.
  let names: [String]

  init(_ root: FilePath, _ names: [String] = []) { (self.root, self.names) = (root, names) }

  func appending(_ name: String) -> StorePath { StorePath(root, names + [name]) }

  /// The same place with more at the end of its name.
  func extended(by text: String) -> StorePath {
    guard let last = names.last else { return StorePath(FilePath(string + text)) }
    return StorePath(root, names.dropLast() + [last + text])
  }

  /// The folder that this is in; of the root, the root.
  var folder: StorePath { StorePath(root, Array(names.dropLast())) }

  var lastName: String { names.last ?? root.lastComponent?.string ?? "" }

  var path: FilePath { names.reduce(root) { $0.appending($1) } }
  var string: String { path.string }
  var description: String { string }
}
