import HTTPCaching
import Synchronization

/// A time of day and a monotonic clock that advance together.
package final class Timepiece: Sendable {
  private let seconds = Mutex<Int64>(1_800_000_000)
  private let start = ContinuousClock.now

  package init() {}

  package var date: HTTPDate { HTTPDate(secondsSinceEpoch: seconds.withLock { $0 }) }
  package var instant: ContinuousClock.Instant { start + .seconds(seconds.withLock { $0 } - 1_800_000_000) }
  package func advance(_ count: Int64) { seconds.withLock { $0 += count } }
}

/// Counts the tasks that do something at the same time.
package final class Gauge: Sendable {
  private let counts = Mutex((now: 0, most: 0))

  package init() {}

  package var most: Int { counts.withLock { $0.most } }

  package func enter() {
    counts.withLock { counts in
      counts.now += 1
      counts.most = max(counts.most, counts.now)
    }
  }

  package func leave() { counts.withLock { $0.now -= 1 } }
}
