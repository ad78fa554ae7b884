import CoreMetrics
import Testing

@testable import RenderHost
@testable import ServerKit

struct MetricsTextTests {
  @Test("counters, gauges and histograms are written")
  func kinds() throws {
    let registry = MetricRegistry(["t": .init(help: "A\nhelp \\ text", buckets: [0.1, 1])])
    Counter(label: "c", dimensions: [("b", "2"), ("a", "1")], factory: registry).increment(by: 3)
    Meter(label: "g", factory: registry).set(2.5)
    let timer = Timer(label: "t", factory: registry)
    for seconds in [0.05, 0.5, 0.5, 7] { timer.recordSeconds(seconds) }
    let text = registry.text(.prometheus)
    #expect(
      text == """
        # HELP c_total c
        # TYPE c_total counter
        c_total{a="1",b="2"} 3
        # HELP g g
        # TYPE g gauge
        g 2.5
        # HELP t A\\nhelp \\\\ text
        # TYPE t histogram
        t_bucket{le="0.1"} 1
        t_bucket{le="1"} 3
        t_bucket{le="+Inf"} 4
        t_sum 8.05
        t_count 4

        """)
  }

  @Test("OpenMetrics names families without suffix and ends with EOF")
  func openMetrics() {
    let registry = MetricRegistry()
    Counter(label: "c", factory: registry).increment()
    let text = registry.text(.openMetrics)
    #expect(text == "# HELP c c\n# TYPE c counter\nc_total 1\n# EOF\n")
  }

  @Test(
    "the format is that of Accept",
    arguments: [
      (nil, MetricFormat.prometheus), ("*/*", .prometheus), ("text/plain", .prometheus),
      ("application/openmetrics-text; version=1.0.0,text/plain;q=0.5", .openMetrics),
      ("application/openmetrics-text;q=0, text/plain", .prometheus),
    ])
  func negotiatedFormat(_ accept: String?, _ format: MetricFormat) {
    #expect(MetricFormat(accept: accept) == format)
  }

  @Test("label values are escaped")
  func escapedLabels() throws {
    let registry = MetricRegistry()
    let nasty = "a\"b\\c\nd}e{f=\u{e9}"
    Counter(label: "1 odd-name", dimensions: [("__x y", nasty)], factory: registry).increment()
    let samples = try StrictMetrics(registry.text(.prometheus)).samples
    #expect(samples.count == 1)
    #expect(samples.first?.labels.values.first == nasty)
    #expect(samples.first?.name == "__odd_name_total")
  }

  @Test("the number of series is bounded")
  func seriesLimit() throws {
    let registry = MetricRegistry()
    for number in 0..<(MetricRegistry.seriesLimit + 50) {
      Counter(label: "c", dimensions: [("who", "\(number)")], factory: registry).increment()
    }
    let samples = try StrictMetrics(registry.text(.prometheus)).samples
    #expect(samples.count == MetricRegistry.seriesLimit + 1)
    #expect(samples.first { $0.labels["who"] == "other" }?.value == 50)
  }

  @Test("all recorded metrics are well-formed")
  func wellFormed() throws {
    let metrics = HostMetrics()
    metrics.requests(method: "GET", route: "/bundles/{path}", status: 200).increment()
    metrics.duration(method: "GET", route: "/bundles/{path}").recordMilliseconds(3)
    metrics.inFlight.increment()
    metrics.refusals("url").increment()
    metrics.answers(kind: "bundle", source: "memory").increment()
    metrics.savedBytes("encoding").increment(by: 10_000)
    metrics.verifications("unchanged").increment()
    metrics.releases.increment()
    metrics.pages("live").set(3)
    metrics.pagesOpened("live").increment()
    metrics.pageCalls("waiting").set(1)
    metrics.pageEntry("render").recordMilliseconds(20)
    metrics.workers("ready").set(2)
    metrics.workerMemory(slot: 0).set(Int64(90 << 20))
    metrics.kills("time").increment()
    metrics.registry.updateProcess()
    for format in [MetricFormat.prometheus, .openMetrics] {
      let parsed = try StrictMetrics(metrics.registry.text(format))
      #expect(parsed.value("renderhost_saved_bytes_total", ["how": "encoding"]) == 10_000)
      #expect(parsed.value("renderhost_pages", ["phase": "live"]) == 3)
      let bucket = ["method": "GET", "route": "/bundles/{path}", "le": "0.005"]
      #expect(parsed.value("renderhost_http_request_duration_seconds_bucket", bucket) == 1)
      #expect((parsed.value("process_resident_memory_bytes", [:]) ?? 0) > 1_000_000)
    }
    let described = [HostMetrics.descriptions, HostMetrics.pageDescriptions, HostMetrics.gatewayDescriptions]
    #expect(metrics.registry.families.allSatisfy { family in described.contains { $0[family.name] != nil } })
  }

  @Test("a destroyed meter is no longer written")
  func destroyedMeter() {
    let registry = MetricRegistry()
    let meter = Meter(label: "g", dimensions: [("slot", "1")], factory: registry)
    meter.set(1)
    meter.destroy()
    #expect(!registry.text(.prometheus).contains("slot"))
  }
}
