import CoreMetrics

/// The metrics of a server: code that records values takes its instrument here. Parts add their own in extensions.
///
/// In the exposed text the names of counters end in `_total`.
package struct HostMetrics: Sendable {
  package let registry: MetricRegistry

  package init(_ registry: MetricRegistry = MetricRegistry(HostMetrics.descriptions)) {
    self.registry = registry
    inFlight = Meter(label: "renderhost_http_requests_in_flight", factory: registry)
    connections = Meter(label: "renderhost_connections", factory: registry)
  }

  /// `renderhost_http_requests`: the number of answered requests, by method, route (its template) and status.
  package func requests(method: String, route: String, status: Int) -> Counter {
    Counter(
      label: "renderhost_http_requests",
      dimensions: [("method", method), ("route", route), ("status", "\(status)")], factory: registry)
  }

  /// `renderhost_http_request_duration_seconds`: the time until the last byte was written, by method and route.
  package func duration(method: String, route: String) -> Timer {
    Timer(
      label: "renderhost_http_request_duration_seconds", dimensions: [("method", method), ("route", route)],
      factory: registry)
  }

  /// `renderhost_http_requests_in_flight`: the number of requests that are being answered.
  let inFlight: Meter

  /// `renderhost_connections`: the number of open connections.
  package let connections: Meter

  /// `renderhost_refusals`: the number of refusals by reason. The server's own are `connections`, `accept`, `body`,
  /// `header`, `url` and `unclear`, and `host`, `origin`, `content-type` and `token` for callers without access.
  package func refusals(_ reason: String) -> Counter { counter("renderhost_refusals", "reason", reason) }

  /// `renderhost_build_info`: 1, with the version and the commit that the program was built from as labels.
  package func build(version: String, commit: String?) -> Meter {
    Meter(
      label: "renderhost_build_info", dimensions: [("version", version), ("commit", commit ?? "")], factory: registry)
  }

  /// `renderhost_ready`: 1 if `/readyz` says that the host is ready, otherwise 0.
  var ready: Meter { Meter(label: "renderhost_ready", factory: registry) }

  /// `renderhost_check`: 1 for each check of `/readyz` that succeeds, otherwise 0.
  func check(_ name: String) -> Meter {
    Meter(label: "renderhost_check", dimensions: [("check", name)], factory: registry)
  }

  /// `renderhost_certificate_end_seconds`: the end of the certificate's validity, in seconds since 1970.
  var certificateEnd: Meter { Meter(label: "renderhost_certificate_end_seconds", factory: registry) }

  /// `renderhost_store_free_bytes`: the bytes that the host can still write to the file system of its store.
  package var storeFree: Meter { Meter(label: "renderhost_store_free_bytes", factory: registry) }

  /// A counter with one label.
  package func counter(_ name: String, _ label: String, _ value: String) -> Counter {
    Counter(label: name, dimensions: [(label, value)], factory: registry)
  }

  /// The descriptions of the server's own metrics and those of the process.
  package static let descriptions: [String: MetricDescription] = [
    "renderhost_http_requests": .init(help: "Requests answered."),
    "renderhost_http_request_duration_seconds": .init(help: "Time until a response's last byte was written."),
    "renderhost_http_requests_in_flight": .init(help: "Requests being answered."),
    "renderhost_connections": .init(help: "Connections that are open."),
    "renderhost_refusals": .init(help: "Refused requests, connections and fetches, by reason."),
    "renderhost_build_info": .init(help: "1, with the version and the commit of the program."),
    "renderhost_ready": .init(help: "1 if the host is ready, otherwise 0."),
    "renderhost_check": .init(help: "1 for each check of readiness that succeeds, otherwise 0."),
    "renderhost_certificate_end_seconds": .init(help: "End of the certificate's validity, in seconds since 1970."),
    "renderhost_store_free_bytes": .init(help: "Bytes left on the file system of the store."),
    "process_resident_memory_bytes": .init(help: "Resident memory of the daemon."),
    "process_cpu_seconds": .init(help: "Processor time of the daemon."),
    "process_open_fds": .init(help: "Open file descriptors of the daemon."),
    "process_start_time_seconds": .init(help: "Start of the daemon, in seconds since 1970."),
  ]
}
