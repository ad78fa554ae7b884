import Foundation
import Testing

@testable import RenderHost
@testable import ServerKit

struct TrafficHistoryTests {
  @Test("a point contains the changes since the previous one")
  func pointValues() throws {
    let metrics = HostMetrics()
    let start = Date(timeIntervalSince1970: 1_000_000)
    metrics.requests(method: "GET", route: "/a", status: 200).increment(by: 1000)
    let history = TrafficHistory(metrics.registry, now: start)
    metrics.requests(method: "GET", route: "/a", status: 200).increment(by: 40)
    metrics.requests(method: "GET", route: "/a", status: 503).increment(by: 10)
    // Requests of monitoring do not count.
    metrics.requests(method: "GET", route: "/status", status: 200).increment(by: 99)
    metrics.answers(kind: "bundle", source: "memory").increment(by: 3)
    metrics.answers(kind: "resource", source: "network").increment(by: 1)
    for _ in 0..<100 { metrics.duration(method: "GET", route: "/a").recordMilliseconds(2) }
    history.sample(at: start + 5)
    history.sample(at: start + 10)
    let points = history.traffic.points
    #expect(points.count == 2)
    #expect(points[0].requests == 10 && points[0].faults == 2 && points[0].hits == 0.75)
    let median = try #require(points[0].median)
    #expect(median > 0.001 && median <= 0.0025)
    #expect(points[1].requests == 0 && points[1].hits == nil && points[1].median == nil)
  }

  @Test("only the last points are kept")
  func pointLimit() {
    let history = TrafficHistory(MetricRegistry(), now: Date(timeIntervalSince1970: 0))
    for number in 1...300 { history.sample(at: Date(timeIntervalSince1970: Double(number))) }
    let points = history.traffic.points
    #expect(points.count == TrafficHistory.limit && points.last?.time == Date(timeIntervalSince1970: 300))
  }

  @Test(
    "quantiles are interpolated",
    arguments: [
      (0.5, [10, 0, 0], 0.5), (0.5, [5, 5, 0], 1), (0.75, [5, 5, 0], 1.5), (0.95, [0, 0, 4], 2), (0.5, [0, 0, 0], nil),
      (0.5, [0, 10, 0], 1.5),
    ] as [(Double, [UInt64], Double?)])
  func quantiles(_ quantile: Double, _ counts: [UInt64], _ value: Double?) {
    #expect(HistogramSeries.Value(counts: counts).quantile(quantile, bounds: [1, 2]) == value)
  }
}
