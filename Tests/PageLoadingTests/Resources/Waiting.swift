import HTTPCaching
import Synchronization

/// The time of day and a monotonic clock, which go together.
final class Timepiece: Sendable {
  private let seconds = Mutex<Int64>(1_800_000_000)
  private let start = ContinuousClock.now

  var date: HTTPDate { HTTPDate(secondsSinceEpoch: seconds.withLock { $0 }) }
  var instant: ContinuousClock.Instant { start + .seconds(seconds.withLock { $0 } - 1_800_000_000) }
  func advance(_ count: Int64) { seconds.withLock { $0 += count } }
}

/// Counts how many do something at once.
final class Gauge: Sendable {
  private let counts = Mutex((now: 0, most: 0))

  var most: Int { counts.withLock { $0.most } }

  func enter() {
    counts.withLock { counts in
      counts.now += 1
      counts.most = max(counts.most, counts.now)
    }
  }

  func leave() { counts.withLock { $0.now -= 1 } }
}
