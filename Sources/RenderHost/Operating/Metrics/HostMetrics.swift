import CoreMetrics

/// Every metric of the daemon, by name: those who record take their instrument here.
///
/// In the text the names of counters end in `_total`.
struct HostMetrics: Sendable {
  let registry: MetricRegistry

  init(_ registry: MetricRegistry = MetricRegistry(HostMetrics.descriptions)) {
    self.registry = registry
    inFlight = Meter(label: "renderhost_http_requests_in_flight", factory: registry)
    connections = Meter(label: "renderhost_connections", factory: registry)
  }

  /// `renderhost_http_requests`: answered, by method, route (its template) and status.
  func requests(method: String, route: String, status: Int) -> Counter {
    Counter(
      label: "renderhost_http_requests",
      dimensions: [("method", method), ("route", route), ("status", "\(status)")], factory: registry)
  }

  /// `renderhost_http_request_duration_seconds`: until the last byte was written, by method and route.
  func duration(method: String, route: String) -> Timer {
    Timer(
      label: "renderhost_http_request_duration_seconds", dimensions: [("method", method), ("route", route)],
      factory: registry)
  }

  /// `renderhost_http_requests_in_flight`.
  let inFlight: Meter

  /// `renderhost_connections`: open now.
  let connections: Meter

  /// `renderhost_refusals`: by reason: `connections`, `body`, `header`, `url`, `unclear`; `origin` and `address` of what is not
  /// fetched; `pages` and `barred` of what is not opened; `host`, `origin`, `content-type` and `token` of who may not ask.
  func refusals(_ reason: String) -> Counter { counter("renderhost_refusals", "reason", reason) }

  /// `renderhost_answers`: what pages' bundles and resources were answered from, by kind (`bundle`, `resource`) and
  /// source (`memory`, `disk`, `revalidated`, `network`, `stale`). All but `network` are hits.
  func answers(kind: String, source: String) -> Counter {
    Counter(label: "renderhost_answers", dimensions: [("kind", kind), ("source", source)], factory: registry)
  }

  /// `renderhost_saved_bytes`: bytes of bundles and files that were not sent, by how: `not_modified`, `encoding`,
  /// `range`.
  func savedBytes(_ how: String) -> Counter { counter("renderhost_saved_bytes", "how", how) }

  /// `renderhost_verifications`: times the source was asked, by outcome: `unchanged`, `changed`, `failed`.
  func verifications(_ outcome: String) -> Counter { counter("renderhost_verifications", "outcome", outcome) }

  /// `renderhost_releases`: releases that were switched to.
  var releases: Counter { Counter(label: "renderhost_releases", factory: registry) }

  /// `renderhost_pages`: there now, by phase; `opening` has no page yet, `reopened` is on its way to another worker.
  func pages(_ phase: String) -> Meter {
    Meter(label: "renderhost_pages", dimensions: [("phase", phase)], factory: registry)
  }

  /// `renderhost_pages_opened`: opened or shown once, by outcome: `live`, `failed` (its script threw), `killed`,
  /// `refused` (not begun).
  func pagesOpened(_ outcome: String) -> Counter { counter("renderhost_pages_opened", "outcome", outcome) }

  /// `renderhost_page_entry_seconds`: an entry into a page, by kind: `render` (until its script had run), `fire`,
  /// `refresh`.
  func pageEntry(_ kind: String) -> Timer {
    Timer(label: "renderhost_page_entry_seconds", dimensions: [("kind", kind)], factory: registry)
  }

  /// `renderhost_workers`: by state: `starting`, `ready`, `busy`, `ending`.
  func workers(_ state: String) -> Meter {
    Meter(label: "renderhost_workers", dimensions: [("state", state)], factory: registry)
  }

  /// `renderhost_worker_resident_bytes`: by the worker's slot, not its process, so that series do not grow.
  func workerMemory(slot: Int) -> Meter {
    Meter(label: "renderhost_worker_resident_bytes", dimensions: [("slot", "\(slot)")], factory: registry)
  }

  /// `renderhost_worker_kills`: by reason: `time`, `memory`, `silence`, `malformed`, `ended` (by itself, or by somebody
  /// else).
  func kills(_ reason: String) -> Counter { counter("renderhost_worker_kills", "reason", reason) }

  /// `renderhost_gateway_answers`: by origin and result; see ``GatewayResult``.
  func gatewayAnswers(origin: String, _ result: GatewayResult) -> Counter {
    Counter(
      label: "renderhost_gateway_answers", dimensions: [("origin", origin), ("result", result.rawValue)],
      factory: registry)
  }

  /// `renderhost_gateway_saved_bytes`: bytes of bodies that the origin did not have to send, by origin.
  func gatewaySavedBytes(origin: String) -> Counter { counter("renderhost_gateway_saved_bytes", "origin", origin) }

  /// `renderhost_gateway_origin_seconds`: until the head of the origin's answer was there, by origin.
  func gatewayOriginTime(origin: String) -> Timer {
    Timer(label: "renderhost_gateway_origin_seconds", dimensions: [("origin", origin)], factory: registry)
  }

  /// `renderhost_gateway_origin_up`: 1, or 0 since it could not be reached; by origin.
  func gatewayOriginUp(origin: String) -> Meter {
    Meter(label: "renderhost_gateway_origin_up", dimensions: [("origin", origin)], factory: registry)
  }

  /// `renderhost_gateway_server_up`: 1, or 0 since checks found it to be down; by origin and server, where there are checks.
  func gatewayServerUp(origin: String, server: String) -> Meter {
    Meter(
      label: "renderhost_gateway_server_up", dimensions: [("origin", origin), ("server", server)], factory: registry)
  }

  /// `renderhost_gateway_cache_entries`, `…_bytes`, `…_capacity_bytes`: what is kept, and how much may be, by origin and
  /// tier: `memory`, `disk`.
  func gatewayCache(_ what: String, origin: String, tier: String) -> Meter {
    Meter(
      label: "renderhost_gateway_cache_\(what)", dimensions: [("origin", origin), ("tier", tier)], factory: registry)
  }

  /// `renderhost_gateway_evictions`: kept answers that had to make room, by origin and tier.
  func gatewayEvictions(origin: String, tier: String) -> Counter {
    Counter(
      label: "renderhost_gateway_evictions", dimensions: [("origin", origin), ("tier", tier)], factory: registry)
  }

  /// `renderhost_gateway_purged`: kept answers that purges met, by kind (`url`, `prefix`, `tag`, `all`) and by how:
  /// `soft`, `hard`.
  func gatewayPurged(_ kind: String, isSoft: Bool) -> Counter {
    Counter(
      label: "renderhost_gateway_purged", dimensions: [("kind", kind), ("how", isSoft ? "soft" : "hard")],
      factory: registry)
  }

  private func counter(_ name: String, _ label: String, _ value: String) -> Counter {
    Counter(label: name, dimensions: [(label, value)], factory: registry)
  }

  static let descriptions: [String: MetricDescription] = [
    "renderhost_http_requests": .init(help: "Requests answered."),
    "renderhost_http_request_duration_seconds": .init(help: "Time until an answer's last byte was written."),
    "renderhost_http_requests_in_flight": .init(help: "Requests being answered."),
    "renderhost_connections": .init(help: "Connections that are open."),
    "renderhost_refusals": .init(help: "What was refused, by reason."),
    "renderhost_answers": .init(help: "Bundles and resources of pages, by what they came from."),
    "renderhost_saved_bytes": .init(help: "Bytes of bundles and files that did not have to be sent."),
    "renderhost_verifications": .init(help: "Times the source was asked, by outcome."),
    "renderhost_releases": .init(help: "Releases that were switched to."),
    "renderhost_pages": .init(help: "Pages, by phase."),
    "renderhost_pages_opened": .init(help: "Pages opened, by outcome."),
    "renderhost_page_entry_seconds": .init(help: "Time of one entry into a page."),
    "renderhost_workers": .init(help: "Worker processes, by state."),
    "renderhost_worker_resident_bytes": .init(help: "Resident memory of a worker."),
    "renderhost_worker_kills": .init(help: "Workers that ended before their time, by reason."),
    "renderhost_gateway_answers": .init(help: "Requests to the gateway, by origin and by what became of them."),
    "renderhost_gateway_saved_bytes": .init(help: "Bytes of bodies that origins did not have to send."),
    "renderhost_gateway_origin_seconds": .init(help: "Time until the head of an origin's answer."),
    "renderhost_gateway_origin_up": .init(help: "Whether requests are sent to an origin."),
    "renderhost_gateway_server_up": .init(help: "Whether checks find a server of an origin to be up."),
    "renderhost_gateway_cache_entries": .init(help: "Answers of an origin that are kept."),
    "renderhost_gateway_cache_bytes": .init(help: "Bytes of an origin's answers that are kept."),
    "renderhost_gateway_cache_capacity_bytes": .init(help: "Bytes of an origin's answers that may be kept."),
    "renderhost_gateway_evictions": .init(help: "Kept answers that had to make room."),
    "renderhost_gateway_purged": .init(help: "Kept answers that purges met."),
    "process_resident_memory_bytes": .init(help: "Resident memory of the daemon."),
    "process_cpu_seconds": .init(help: "Processor time of the daemon."),
    "process_open_fds": .init(help: "Open file descriptors of the daemon."),
    "process_start_time_seconds": .init(help: "Start of the daemon, in seconds since 1970."),
  ]
}
