import CoreMetrics
import ServerKit

/// The metrics of bundles, pages and workers. In `renderhost_refusals` they have the reasons `origin` and `address` (not
/// fetched), `pages` and `barred` (not opened).
extension HostMetrics {
  /// `renderhost_answers`: the sources of pages' bundles and resources, by kind (`bundle`, `resource`, and
  /// `preview` for the pictures of previews) and source (`memory`, `disk`, `revalidated`, `network`, `stale`). All but `network` are hits.
  func answers(kind: String, source: String) -> Counter {
    Counter(label: "renderhost_answers", dimensions: [("kind", kind), ("source", source)], factory: registry)
  }

  /// `renderhost_saved_bytes`: bytes of bundles and files that were not sent, by the saving: `not_modified`, `delta`,
  /// `encoding`, `range`.
  func savedBytes(_ how: String) -> Counter { counter("renderhost_saved_bytes", "how", how) }

  /// `renderhost_verifications`: checks of the source, by outcome: `unchanged`, `changed`, `failed`.
  func verifications(_ outcome: String) -> Counter { counter("renderhost_verifications", "outcome", outcome) }

  /// `renderhost_releases`: releases that were switched to.
  var releases: Counter { Counter(label: "renderhost_releases", factory: registry) }

  /// `renderhost_reports`: reports of installs, by result: `good` and `bad` are counted; `repeated` (the install was
  /// counted, or as many as can be), `other` (of another release) and `refused` are not.
  func reports(_ result: String) -> Counter { counter("renderhost_reports", "result", result) }

  /// `renderhost_halts`: releases that were halted, by reports or by hand.
  var halts: Counter { Counter(label: "renderhost_halts", factory: registry) }

  /// `renderhost_pages`: open pages by phase; `opening` has no page yet, `reopened` is being opened in another worker.
  func pages(_ phase: String) -> Meter {
    Meter(label: "renderhost_pages", dimensions: [("phase", phase)], factory: registry)
  }

  /// `renderhost_pages_opened`: pages that were opened or shown once, by outcome: `live`, `failed` (its script threw),
  /// `killed`, `refused` (not started).
  func pagesOpened(_ outcome: String) -> Counter { counter("renderhost_pages_opened", "outcome", outcome) }

  /// `renderhost_page_entry_seconds`: the time of an entry into a page, by kind: `render` (until its script had run),
  /// `fire`, `refresh`.
  func pageEntry(_ kind: String) -> Timer {
    Timer(label: "renderhost_page_entry_seconds", dimensions: [("kind", kind)], factory: registry)
  }

  /// `renderhost_page_calls`: requests for pages by state: `running` in a worker, `waiting` for one.
  func pageCalls(_ state: String) -> Meter {
    Meter(label: "renderhost_page_calls", dimensions: [("state", state)], factory: registry)
  }

  /// `renderhost_workers`: workers by state: `starting`, `ready`, `busy`, `ending`.
  func workers(_ state: String) -> Meter {
    Meter(label: "renderhost_workers", dimensions: [("state", state)], factory: registry)
  }

  /// `renderhost_worker_resident_bytes`: by the worker's slot rather than its process, so that the number of series is
  /// bounded.
  func workerMemory(slot: Int) -> Meter {
    Meter(label: "renderhost_worker_resident_bytes", dimensions: [("slot", "\(slot)")], factory: registry)
  }

  /// `renderhost_worker_kills`: by reason: `time`, `memory`, `silence`, `malformed`, `ended` (by itself, or by another
  /// process).
  func kills(_ reason: String) -> Counter { counter("renderhost_worker_kills", "reason", reason) }

  static let pageDescriptions: [String: MetricDescription] = [
    "renderhost_answers": .init(help: "Bundles and resources of pages, by where they came from."),
    "renderhost_saved_bytes": .init(help: "Bytes of bundles and files that did not have to be sent."),
    "renderhost_verifications": .init(help: "Checks of the source, by outcome."),
    "renderhost_releases": .init(help: "Releases that were switched to."),
    "renderhost_reports": .init(help: "Reports of installs about the release, by result."),
    "renderhost_halts": .init(help: "Releases that were halted, by reports or by hand."),
    "renderhost_pages": .init(help: "Pages, by phase."),
    "renderhost_pages_opened": .init(help: "Pages opened, by outcome."),
    "renderhost_page_entry_seconds": .init(help: "Time that an entry into a page takes."),
    "renderhost_page_calls": .init(help: "Requests for pages that run in a worker or wait for one."),
    "renderhost_workers": .init(help: "Worker processes, by state."),
    "renderhost_worker_resident_bytes": .init(help: "Resident memory of a worker."),
    "renderhost_worker_kills": .init(help: "Workers that ended early, by reason."),
  ]
}
