import Synchronization

/// Logs a frequent event the first time, and then at intervals with the number of occurrences.
struct LogThrottle: Hashable, Sendable {
  /// The shortest time between two log lines.
  let interval: Duration
  private var count = 0
  private var lastSaid: ContinuousClock.Instant?

  init(every interval: Duration) { self.interval = interval }

  /// Records one event.
  ///
  /// - Returns: the number of events since the last log line, including this one; `nil` if no line is due.
  mutating func note(at now: ContinuousClock.Instant) -> Int? {
    count += 1
    if let lastSaid, now - lastSaid < interval { return nil }
    defer { (lastSaid, count) = (now, 0) }
    return count
  }
}

/// Several throttles, each with a name.
///
/// Events after the last line are in the metrics, and in the log when the next one occurs.
package final class LogThrottles: Sendable {
  /// The limit of names that are counted separately; all further names share one counter.
  package static let limit = 100

  private let interval: Duration
  private let state = Mutex<[String: LogThrottle]>([:])

  package init(every interval: Duration = .seconds(10)) { self.interval = interval }

  /// Records one event.
  ///
  /// - Returns: the number of events since the last log line, including this one; `nil` if no line is due.
  package func note(_ name: String, at now: ContinuousClock.Instant) -> Int? {
    state.withLock { state in
      let name = state.count < Self.limit || state[name] != nil ? name : ""
      return state[name, default: LogThrottle(every: interval)].note(at: now)
    }
  }
}
