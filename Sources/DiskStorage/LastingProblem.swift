import Synchronization

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
