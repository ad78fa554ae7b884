import Foundation
import Logging
import ServerKit
import ServiceLifecycle
import Synchronization

/// Keeps the traffic of the last minutes for the charts: a point every ``interval``, at most ``limit``.
final class TrafficHistory: Service {
  static let interval = Duration.seconds(5)
  static let limit = 180

  private struct State {
    var points: [HostStatus.Traffic.Point] = []
    var last: (sample: TrafficSample, time: Date)
  }

  private let registry: MetricRegistry
  private let state: Mutex<State>

  init(_ registry: MetricRegistry, now: Date = Date()) {
    self.registry = registry
    state = Mutex(State(last: (TrafficSample(registry), now)))
  }

  var traffic: HostStatus.Traffic {
    HostStatus.Traffic(interval: Self.interval / .seconds(1), points: state.withLock(\.points))
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
