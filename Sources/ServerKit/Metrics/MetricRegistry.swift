import CoreMetrics
import Foundation
import Synchronization

/// A backend of swift-metrics that keeps values to be scraped.
///
/// A metric has at most ``seriesLimit`` series; values of further series are counted in one whose labels are all
/// `other`.
package final class MetricRegistry: MetricsFactory, Sendable {
  static let seriesLimit = 500

  package enum Kind: String, Sendable {
    case counter, gauge, histogram
  }

  package enum Series: Sendable {
    case counter(CounterSeries)
    case gauge(GaugeSeries)
    case histogram(HistogramSeries)
  }

  package struct Labels: Hashable, Comparable, Sendable {
    package let pairs: [[String]]

    package init(_ dimensions: [(String, String)]) {
      pairs = dimensions.map { [$0.0.metricLabel, String($0.1.prefix(200))] }.sorted { $0[0] < $1[0] }
    }

    private init(pairs: [[String]]) { self.pairs = pairs }

    package static func < (a: Labels, b: Labels) -> Bool {
      a.pairs.joined().lexicographicallyPrecedes(b.pairs.joined())
    }

    package subscript(name: String) -> String? { pairs.first { $0[0] == name }?[1] }

    package var other: Labels { Labels(pairs: pairs.map { [$0[0], "other"] }) }
  }

  package struct Family: Sendable {
    package let name: String
    package let kind: Kind
    package var series: [Labels: Series] = [:]
  }

  private let descriptions: [String: MetricDescription]
  private let state = Mutex<[String: Family]>([:])

  /// - Parameter descriptions: the descriptions of each part's metrics by their names.
  package init(_ descriptions: [String: MetricDescription]...) {
    self.descriptions = descriptions.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
  }

  /// The families, sorted by name.
  package var families: [Family] { state.withLock { $0.values.sorted { $0.name < $1.name } } }

  package func description(of name: String) -> MetricDescription {
    descriptions[name] ?? MetricDescription(help: name.replacing("_", with: " "))
  }

  /// Returns the series with a name and labels, and makes it at first use. A name has one kind: a request for another
  /// kind gets a series that is not exposed.
  private func series(_ label: String, _ dimensions: [(String, String)], _ kind: Kind) -> Series {
    let (name, labels) = (label.metricName, Labels(dimensions))
    return state.withLock { families in
      var family = families[name] ?? Family(name: name, kind: kind)
      guard family.kind == kind else { return make(name, kind) }
      let isFull = family.series.count >= Self.seriesLimit && family.series[labels] == nil
      let place = isFull ? labels.other : labels
      let series = family.series[place] ?? make(name, kind)
      family.series[place] = series
      families[name] = family
      return series
    }
  }

  private func make(_ name: String, _ kind: Kind) -> Series {
    switch kind {
    case .counter: .counter(CounterSeries())
    case .gauge: .gauge(GaugeSeries())
    case .histogram: .histogram(HistogramSeries(bounds: description(of: name).buckets))
    }
  }

  package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    if case .counter(let counter) = series(label, dimensions, .counter) { counter } else { CounterSeries() }
  }

  /// A total that is counted elsewhere, such as the processor's time.
  package func total(_ name: String) -> GaugeSeries {
    state.withLock { families in
      if case .gauge(let total)? = families[name]?.series[Labels([])] { return total }
      let total = GaugeSeries()
      families[name] = Family(name: name, kind: .counter, series: [Labels([]): .gauge(total)])
      return total
    }
  }

  package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { gauge(label, dimensions) }

  package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    aggregate ? histogram(label, dimensions) : gauge(label, dimensions)
  }

  package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    histogram(label, dimensions)
  }

  private func gauge(_ label: String, _ dimensions: [(String, String)]) -> GaugeSeries {
    if case .gauge(let gauge) = series(label, dimensions, .gauge) { gauge } else { GaugeSeries() }
  }

  private func histogram(_ label: String, _ dimensions: [(String, String)]) -> HistogramSeries {
    if case .histogram(let histogram) = series(label, dimensions, .histogram) {
      histogram
    } else {
      HistogramSeries(bounds: [])
    }
  }

  // A removed counter would look like one that was reset: only the series of gauges are removed, when their subject no
  // longer exists.
  package func destroyCounter(_ handler: any CounterHandler) {}
  package func destroyTimer(_ handler: any TimerHandler) {}
  package func destroyRecorder(_ handler: any RecorderHandler) { removeGauge(handler) }
  package func destroyMeter(_ handler: any MeterHandler) { removeGauge(handler) }

  private func removeGauge(_ handler: AnyObject) {
    state.withLock { families in
      for (name, family) in families where family.kind == .gauge {
        families[name]?.series = family.series.filter { entry in
          if case .gauge(let gauge) = entry.value { gauge !== handler } else { true }
        }
      }
    }
  }
}

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

extension HistogramSeries.Value {
  /// Interpolates linearly in the bucket of a quantile, as PromQL's `histogram_quantile` does.
  ///
  /// - Parameter bounds: the upper bounds of the buckets.
  /// - Returns: `nil` without values.
  package func quantile(_ quantile: Double, bounds: [Double]) -> Double? {
    guard total > 0, let last = bounds.last else { return nil }
    let rank = quantile * Double(total)
    var below: UInt64 = 0
    for (index, count) in counts.enumerated() {
      if Double(below + count) >= rank, count > 0 {
        guard index < bounds.count else { return last }
        let lower = index > 0 ? bounds[index - 1] : 0
        return lower + (bounds[index] - lower) * (rank - Double(below)) / Double(count)
      }
      below += count
    }
    return last
  }
}

extension MetricRegistry {
  /// Sets the metrics of this process from the kernel, under the names that Prometheus' clients use.
  func updateProcess() {
    #if os(Linux)
      // proc(5): after the name in parentheses come the state (3rd field) and the rest.
      guard let stat = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
        let close = stat.lastIndex(of: ")")
      else { return }
      let fields = stat[close...].split(separator: " ").map(String.init)
      let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
      func field(_ number: Int) -> Double? { fields.indices.contains(number - 2) ? Double(fields[number - 2]) : nil }
      func set(_ name: String, _ value: Double) { makeMeter(label: name, dimensions: []).set(value) }
      if let user = field(14), let system = field(15) { total("process_cpu_seconds").set((user + system) / ticks) }
      if let pages = field(24) { set("process_resident_memory_bytes", pages * Double(sysconf(Int32(_SC_PAGESIZE)))) }
      if let start = field(22), let boot = Self.bootTime { set("process_start_time_seconds", boot + start / ticks) }
      if let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
        set("process_open_fds", Double(open.count))
      }
    #endif
  }

  private static var bootTime: Double? {
    let stat = try? String(contentsOfFile: "/proc/stat", encoding: .utf8)
    let line = stat?.split(separator: "\n").first { $0.hasPrefix("btime ") }
    return line.flatMap { Double($0.dropFirst(6)) }
  }
}
