import CoreMetrics
import Synchronization

/// A number that only grows.
package final class CounterSeries: CounterHandler, Sendable {
  private let count = Atomic<Int64>(0)
  package var value: Int64 { count.load(ordering: .relaxed) }

  package func increment(by amount: Int64) {
    guard amount > 0 else { return }
    count.wrappingAdd(amount, ordering: .relaxed)
  }

  package func reset() { count.store(0, ordering: .relaxed) }
}

/// A number that goes up and down.
package final class GaugeSeries: MeterHandler, RecorderHandler, Sendable {
  private let number = Mutex(0.0)
  var value: Double { number.withLock { $0 } }

  package func set(_ value: Int64) { number.withLock { $0 = Double(value) } }
  package func set(_ value: Double) { number.withLock { $0 = value } }
  package func record(_ value: Int64) { set(value) }
  package func record(_ value: Double) { set(value) }
  package func increment(by amount: Double) { number.withLock { $0 += amount } }
  package func decrement(by amount: Double) { number.withLock { $0 -= amount } }
}

/// The number of values in each bucket.
package final class HistogramSeries: RecorderHandler, TimerHandler, Sendable {
  package struct Value: Equatable, Sendable {
    /// The number of values in each bucket, and in the one above the last bound; not cumulated.
    package var counts: [UInt64]
    var sum = 0.0

    package init(counts: [UInt64]) { self.counts = counts }

    package var total: UInt64 { counts.reduce(0, +) }
  }

  /// The upper bounds, ascending.
  package let bounds: [Double]
  private let state: Mutex<Value>
  package var value: Value { state.withLock { $0 } }

  package init(bounds: [Double]) {
    self.bounds = bounds
    state = Mutex(Value(counts: Array(repeating: 0, count: bounds.count + 1)))
  }

  package func record(_ value: Int64) { record(Double(value)) }

  package func record(_ value: Double) {
    guard value.isFinite else { return }
    let index = bounds.firstIndex { value <= $0 } ?? bounds.count
    state.withLock { state in
      state.counts[index] += 1
      state.sum += value
    }
  }

  /// Times are kept in seconds, the base unit of Prometheus.
  package func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}
