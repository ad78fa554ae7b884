/// Why the store cannot do what it was asked to. What was in it is untouched.
public enum StoreError: Error, Hashable, CustomStringConvertible {
  /// The folder or a file in it cannot be written.
  case notWritable(path: String, reason: String)
  case notReadable(path: String, reason: String)
  /// Written by a newer PageKit.
  case newerVersion(path: String, found: Int, supported: Int)
  case diskFull(path: String)
  /// The database is no database any more.
  case damagedDatabase(path: String, reason: String)
  /// The database is another program's.
  case foreignDatabase(path: String)
  /// The database cannot be used.
  case database(path: String, reason: String)
  /// There is no store here.
  case absent(path: String)
  /// The release was collected while it was in use.
  case releaseGone(name: String)
  /// The release cannot be switched to.
  case incompleteRelease(name: String, missing: [String])

  public var description: String {
    switch self {
    case .notWritable(let path, let reason): "the store cannot write \(path): \(reason)"
    case .notReadable(let path, let reason): "the store cannot read \(path): \(reason)"
    case .newerVersion(let path, let found, let supported):
      "\(path) was written by a newer PageKit (format \(found), this one knows \(supported)): update PageKit, or name another folder with --store"
    case .diskFull(let path): "the disk is full: \(path) could not be written; free some space and try again"
    case .damagedDatabase(let path, let reason):
      "the store's database \(path) is damaged (\(reason)): the next \"bundlectl preload\" puts it aside and makes a new one of the files that are there"
    case .foreignDatabase(let path):
      "\(path) is another program's database: name another folder with --store"
    case .database(let path, let reason): "the store's database \(path) cannot be used: \(reason)"
    case .absent(let path): "there is no store at \(path): run \"bundlectl preload\" first"
    case .incompleteRelease(let name, let missing):
      "release \(name) is not complete, \(missing.prefix(3).joined(separator: ", "))\(missing.count > 3 ? " and \(missing.count - 3) more are" : missing.count == 1 ? " is" : " are") missing: run \"bundlectl preload\" first"
    case .releaseGone(let name): "release \(name) was removed from the store meanwhile: try again"
    }
  }
}
