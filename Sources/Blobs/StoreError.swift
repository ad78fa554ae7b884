import Synchronization

/// The reason why an operation of a store failed. The store's contents are unchanged.
public enum StoreError: Error, Hashable, CustomStringConvertible {
  /// The folder or a file in it cannot be written.
  case notWritable(path: String, reason: String)
  /// A file cannot be read.
  case notReadable(path: String, reason: String)
  /// The store was written by a newer PageKit; `found` and `supported` are versions of the format.
  case newerVersion(path: String, found: Int, supported: Int)
  /// The disk is full.
  case diskFull(path: String)
  /// The database is damaged.
  case damagedDatabase(path: String, reason: String)
  /// The folder has none of a store's folders, and another program's file in the place of one.
  case foreignFile(path: String)
  /// The database belongs to another program.
  case foreignDatabase(path: String)
  /// The database cannot be used for another reason.
  case database(path: String, reason: String)
  /// The folder contains no store.
  case absent(path: String)
  /// The release was removed by a garbage collection meanwhile.
  case releaseGone(name: String)
  /// The release cannot become current, since the entries `missing` are not stored.
  case incompleteRelease(name: String, missing: [String])
  /// The release cannot become current, since it is bad on this device.
  case badRelease(name: String)
  /// The release cannot be marked as bad, since the store has no good one to take its place.
  case noGoodRelease(name: String)

  public var description: String {
    switch self {
    case .notWritable(let path, let reason): "the store cannot write \(path): \(reason)"
    case .notReadable(let path, let reason): "the store cannot read \(path): \(reason)"
    case .newerVersion(let path, let found, let supported):
      "\(path) was written by a newer PageKit (format \(found), this one knows \(supported)): update PageKit, or name another folder"
    case .diskFull(let path): "the disk is full: \(path) could not be written; free some space and try again"
    case .damagedDatabase(let path, let reason):
      "the store's database \(path) is damaged (\(reason)): the next preload puts it aside and makes a new one of the files that are there"
    case .foreignFile(let path):
      "\(path) is not a folder of a store, but another program's file: name another folder"
    case .foreignDatabase(let path):
      "\(path) is another program's database: name another folder"
    case .database(let path, let reason): "the store's database \(path) cannot be used: \(reason)"
    case .absent(let path): "there is no store at \(path)"
    case .incompleteRelease(let name, let missing):
      "release \(name) is not complete, \(missing.prefix(3).joined(separator: ", "))\(missing.count > 3 ? " and \(missing.count - 3) more are" : missing.count == 1 ? " is" : " are") missing"
    case .badRelease(let name):
      "release \(name) is bad on this device"
    case .noGoodRelease(let name):
      "release \(name) cannot be marked as bad: the store has no good release to take its place"
    case .releaseGone(let name): "release \(name) was removed from the store meanwhile: try again"
    }
  }
}

/// A problem that lasts, such as a full disk: it is reported once, however many requests meet it.
package final class LastingProblem: Sendable {
  private struct State {
    var cause: String?
    var lastMet: ContinuousClock.Instant?
  }

  /// The time without the problem after which it is over: on a disk that is nearly full, short files fit and long ones
  /// do not.
  package static let rest: Duration = .seconds(60)

  private let state = Mutex(State())

  package init() {}

  /// Records that an operation has met the problem.
  ///
  /// - Returns: `true` if it has to be reported: it is new, or has another cause than before.
  package func begins(_ error: any Error, at now: ContinuousClock.Instant = .now) -> Bool {
    let cause = (error as? StoreError)?.cause ?? "\(type(of: error))"
    return state.withLock { state in
      defer { (state.cause, state.lastMet) = (cause, now) }
      return state.cause != cause
    }
  }

  /// Records that an operation has not met the problem.
  ///
  /// - Returns: `true` if the problem is over, which is to be reported.
  package func ends(at now: @autoclosure () -> ContinuousClock.Instant = .now) -> Bool {
    state.withLock { state in
      guard let lastMet = state.lastMet, now() - lastMet >= Self.rest else { return false }
      state = State()
      return true
    }
  }
}

extension StoreError {
  /// The file that keeps a folder from being written, with the reason; `nil` for other errors.
  package var obstacle: (path: String, reason: String)? {
    switch self {
    case .notWritable(let path, let reason): (path, reason)
    case .foreignFile(let path): (path, "it is not a folder, but another program's file")
    default: nil
    }
  }

  /// The reason, without the file that it concerns.
  fileprivate var cause: String {
    switch self {
    case .notWritable(_, let reason), .notReadable(_, let reason), .damagedDatabase(_, let reason),
      .database(_, let reason):
      reason
    case .diskFull: "the disk is full"
    default: description
    }
  }
}
