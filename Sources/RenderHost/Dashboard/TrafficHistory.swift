import CacheGateway
import Foundation
import Logging
import ServerKit
import ServiceLifecycle
import Synchronization

/// Keeps the traffic of the last minutes for the charts: a point every ``interval``, at most ``limit``.
final class TrafficHistory: Service {
  static let interval = Duration.seconds(5)
  static let limit = 180

  private let registry: MetricRegistry
  private let state: Mutex<(points: [HostStatus.Traffic.Point], last: (sample: TrafficSample, time: Date))>

  init(_ registry: MetricRegistry, now: Date = Date()) {
    self.registry = registry
    state = Mutex(([], (TrafficSample(registry), now)))
  }

  var traffic: HostStatus.Traffic {
    HostStatus.Traffic(interval: Self.interval / .seconds(1), points: state.withLock { $0.points })
  }

  /// Records one point.
  func sample(at now: Date) {
    let sample = TrafficSample(registry)
    state.withLock { state in
      let interval = max(0.001, now.timeIntervalSince(state.last.time))
      state.points.append(sample.point(since: state.last.sample, interval: interval, at: now))
      if state.points.count > Self.limit { state.points.removeFirst(state.points.count - Self.limit) }
      state.last = (sample, now)
    }
  }

  func run() async throws {
    try? await cancelWhenGracefulShutdown { [self] in
      while true {
        try await Task.sleep(for: Self.interval)
        sample(at: Date())
      }
    }
  }
}

/// The counters at one moment; two of them make a point of the charts.
struct TrafficSample: Sendable {
  var requests: Int64 = 0
  var faults: Int64 = 0
  var answers: Int64 = 0
  var hits: Int64 = 0
  var durations = HistogramSeries.Value(counts: [])
  var bounds: [Double] = []

  /// The routes that monitoring and an open dashboard request, which do not count as traffic: the dashboard shows the
  /// previews of live pages, which load their pictures, or thumbnails.
  private static let watching: Set<String> = [
    "/", "/status", "/metrics", "/healthz", "/readyz", "/pages/{id}/preview", "/pages/{id}/thumbnail", "/resources",
  ]

  init(_ registry: MetricRegistry) {
    for family in registry.families {
      for (labels, series) in family.series {
        switch (family.name, series) {
        case ("renderhost_http_requests", .counter(let counter)) where !Self.isWatching(labels):
          requests += counter.value
          if labels["status"]?.hasPrefix("5") == true { faults += counter.value }
        case ("renderhost_answers", .counter(let counter)) where labels["kind"] != HostRecord.previewKind:
          answers += counter.value
          if labels["source"] != "network" { hits += counter.value }
        case ("renderhost_gateway_answers", .counter(let counter)):
          answers += counter.value
          if labels["result"].flatMap(GatewayResult.init(rawValue:))?.isSaved ?? false { hits += counter.value }
        case ("renderhost_http_request_duration_seconds", .histogram(let histogram)) where !Self.isWatching(labels):
          add(histogram)
        default: break
        }
      }
    }
  }

  /// Returns the point of the charts between two samples.
  func point(since earlier: TrafficSample, interval: Double, at now: Date) -> HostStatus.Traffic.Point {
    var durations = durations
    for (index, count) in earlier.durations.counts.enumerated() where index < durations.counts.count {
      durations.counts[index] -= min(count, durations.counts[index])
    }
    let answers = answers - earlier.answers
    return .init(
      time: now, requests: Double(requests - earlier.requests) / interval,
      faults: Double(faults - earlier.faults) / interval,
      hits: answers > 0 ? Double(hits - earlier.hits) / Double(answers) : nil,
      median: durations.quantile(0.5, bounds: bounds), p95: durations.quantile(0.95, bounds: bounds))
  }

  private static func isWatching(_ labels: MetricRegistry.Labels) -> Bool {
    labels["route"].map(watching.contains) ?? false
  }

  private mutating func add(_ histogram: HistogramSeries) {
    let value = histogram.value
    bounds = histogram.bounds
    if durations.counts.isEmpty { durations.counts = Array(repeating: 0, count: value.counts.count) }
    for (index, count) in value.counts.enumerated() where index < durations.counts.count {
      durations.counts[index] += count
    }
  }
}
