import Synchronization

/// Logs a frequent event the first time, and then once in a while with how often it happened.
struct LogThrottle: Hashable, Sendable {
  /// The least time between two times that it is said.
  let interval: Duration
  private var count = 0
  private var lastSaid: ContinuousClock.Instant?

  init(every interval: Duration) { self.interval = interval }

  /// Notes that it happens now.
  ///
  /// - Returns: how often it has happened since it was last said, this time included; `nil` if it is not to be said now.
  mutating func note(at now: ContinuousClock.Instant) -> Int? {
    count += 1
    if let lastSaid, now - lastSaid < interval { return nil }
    defer { (lastSaid, count) = (now, 0) }
    return count
  }
}

/// Several throttles, each with a name.
///
/// Events after the last line are in the metrics, and in the log when the next one happens.
package final class LogThrottles: Sendable {
  /// Names that are told apart; all others count as one.
  package static let limit = 100

  private let interval: Duration
  private let state = Mutex<[String: LogThrottle]>([:])

  package init(every interval: Duration = .seconds(10)) { self.interval = interval }

  /// Notes that something happens now.
  ///
  /// - Returns: how often it has happened since it was last said, this time included; `nil` if it is not to be said now.
  package func note(_ name: String, at now: ContinuousClock.Instant) -> Int? {
    state.withLock { state in
      let name = state.count < Self.limit || state[name] != nil ? name : ""
      return state[name, default: LogThrottle(every: interval)].note(at: now)
    }
  }
}
