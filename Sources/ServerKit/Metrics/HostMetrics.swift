import CoreMetrics

/// The metrics of a server, by name: those who record take their instrument here. Parts add their own in extensions.
///
/// In the text the names of counters end in `_total`.
package struct HostMetrics: Sendable {
  package let registry: MetricRegistry

  package init(_ registry: MetricRegistry = MetricRegistry(HostMetrics.descriptions)) {
    self.registry = registry
    inFlight = Meter(label: "renderhost_http_requests_in_flight", factory: registry)
    connections = Meter(label: "renderhost_connections", factory: registry)
  }

  /// `renderhost_http_requests`: answered, by method, route (its template) and status.
  package func requests(method: String, route: String, status: Int) -> Counter {
    Counter(
      label: "renderhost_http_requests",
      dimensions: [("method", method), ("route", route), ("status", "\(status)")], factory: registry)
  }

  /// `renderhost_http_request_duration_seconds`: until the last byte was written, by method and route.
  package func duration(method: String, route: String) -> Timer {
    Timer(
      label: "renderhost_http_request_duration_seconds", dimensions: [("method", method), ("route", route)],
      factory: registry)
  }

  /// `renderhost_http_requests_in_flight`.
  let inFlight: Meter

  /// `renderhost_connections`: open now.
  package let connections: Meter

  /// `renderhost_refusals`: by reason. The server's own are `connections`, `accept`, `body`, `header`, `url` and `unclear`;
  /// `host`, `origin`, `content-type` and `token` of callers that may not ask.
  package func refusals(_ reason: String) -> Counter { counter("renderhost_refusals", "reason", reason) }

  /// A counter with one label.
  package func counter(_ name: String, _ label: String, _ value: String) -> Counter {
    Counter(label: name, dimensions: [(label, value)], factory: registry)
  }

  /// The server's own, and those of the process.
  package static let descriptions: [String: MetricDescription] = [
    "renderhost_http_requests": .init(help: "Requests answered."),
    "renderhost_http_request_duration_seconds": .init(help: "Time until an answer's last byte was written."),
    "renderhost_http_requests_in_flight": .init(help: "Requests being answered."),
    "renderhost_connections": .init(help: "Connections that are open."),
    "renderhost_refusals": .init(help: "What was refused, by reason."),
    "process_resident_memory_bytes": .init(help: "Resident memory of the daemon."),
    "process_cpu_seconds": .init(help: "Processor time of the daemon."),
    "process_open_fds": .init(help: "Open file descriptors of the daemon."),
    "process_start_time_seconds": .init(help: "Start of the daemon, in seconds since 1970."),
  ]
}
