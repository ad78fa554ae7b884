import CoreMetrics
import ServerKit

/// The metrics of bundles, pages and workers. In `renderhost_refusals` they have the reasons `origin` and `address` (not
/// fetched), `pages` and `barred` (not opened).
extension HostMetrics {
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

  /// `renderhost_page_calls`: requests for pages by state: `running` in a worker, `waiting` for a place in one.
  func pageCalls(_ state: String) -> Meter {
    Meter(label: "renderhost_page_calls", dimensions: [("state", state)], factory: registry)
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

  static let pageDescriptions: [String: MetricDescription] = [
    "renderhost_answers": .init(help: "Bundles and resources of pages, by what they came from."),
    "renderhost_saved_bytes": .init(help: "Bytes of bundles and files that did not have to be sent."),
    "renderhost_verifications": .init(help: "Times the source was asked, by outcome."),
    "renderhost_releases": .init(help: "Releases that were switched to."),
    "renderhost_pages": .init(help: "Pages, by phase."),
    "renderhost_pages_opened": .init(help: "Pages opened, by outcome."),
    "renderhost_page_entry_seconds": .init(help: "Time of one entry into a page."),
    "renderhost_page_calls": .init(help: "Requests for pages that run in workers or wait for a place in one."),
    "renderhost_workers": .init(help: "Worker processes, by state."),
    "renderhost_worker_resident_bytes": .init(help: "Resident memory of a worker."),
    "renderhost_worker_kills": .init(help: "Workers that ended before their time, by reason."),
  ]
}
