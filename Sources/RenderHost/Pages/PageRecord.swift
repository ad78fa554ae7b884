import CoreMetrics
import PageKit
import PageWorkers
import ServerKit

/// Events of bundles, pages and workers.
extension HostRecord {
  /// Counts the bundle of a page or of a page embedded in it.
  func loaded(_ bundle: LoadedBundle) {
    metrics.answers(kind: "bundle", source: bundle.source == .store ? "disk" : bundle.source.rawValue).increment()
  }

  /// The kind of the pictures of previews in `renderhost_answers`.
  static let previewKind = "preview"

  /// Counts a response by its source.
  ///
  /// - Parameter kind: `resource` for what a page asks for, ``previewKind`` for what a preview shows.
  func answered(from source: Resource.Source, kind: String = "resource") {
    let name =
      switch source {
      case .memory: "memory"
      case .disk, .release, .local: "disk"
      case .revalidated: "revalidated"
      case .network: "network"
      }
    metrics.answers(kind: kind, source: name).increment()
  }

  /// Counts a fetch that the policy refused.
  func refused(_ refusal: AccessRefusal) {
    if case .address = refusal { return metrics.refusals("address").increment() }
    metrics.refusals("origin").increment()
  }

  /// Counts and logs the end of a worker.
  ///
  /// - Parameter bundles: the bundles that caused it.
  func killed(_ reason: KillReason, bundles: [String]) {
    metrics.kills(reason.name).increment()
    failures.append(
      .worker, "\(reason)", of: bundles.isEmpty ? nil : bundles.sorted().joined(separator: ", "), cause: reason.cause)
  }

  /// Counts a page that was opened, or shown once.
  func opened(_ page: OpenedPage) {
    metrics.pagesOpened("live").increment()
    if let time = page.reply.timings["evaluated"] { entered("render", seconds: time) }
    if page.reply.newErrors > 0, let fault = page.reply.errors.last { threw(fault, in: page.location) }
  }

  /// Counts a page that could not be opened.
  func failed(_ failure: PageFailure, opening location: String) {
    metrics.pagesOpened(failure.outcome).increment()
    switch failure {
    case .full: metrics.refusals("pages").increment()
    case .barred: metrics.refusals("barred").increment()
    case .script(_, let fault): threw(fault, in: location)
    case .killed(_, let reason, _): killed(reason, page: location)
    case .bundle(502, let reason): failures.append(.page, reason, of: location)
    default: break
    }
  }

  /// Counts a page whose script was stopped.
  func killed(_ reason: KillReason, page location: String) {
    failures.append(.page, "\(reason)", of: location, cause: reason.cause)
  }

  func threw(_ fault: ScriptException, in location: String) { failures.append(.page, fault.message, of: location) }

  /// - Parameters:
  ///   - kind: `render`, `fire`, `refresh`.
  ///   - seconds: the time that the worker reports; it may be invalid.
  func entered(_ kind: String, seconds: Double) {
    guard seconds.isFinite, seconds >= 0 else { return }
    metrics.pageEntry(kind).recordNanoseconds(Int64(min(seconds, 3_600) * 1e9))
  }
}

extension PageFailure {
  /// The result in `renderhost_pages_opened`.
  fileprivate var outcome: String {
    switch self {
    case .script: "failed"
    case .killed: "killed"
    default: "refused"
    }
  }
}

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

  /// `renderhost_gate`: releases that the gate has looked at, by outcome: `passed`, `warned` (served in spite of it),
  /// `refused`, `failed` (its pages could not be run).
  func gate(_ outcome: String) -> Counter { counter("renderhost_gate", "outcome", outcome) }

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
  /// `fire`, `tap`, `refresh`.
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
    "renderhost_gate": .init(help: "Releases that the gate looked at, by outcome."),
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

extension FailureLog.Kind {
  /// A script threw, or was stopped, or a page could not be opened.
  static let page = Self("page")
  /// A worker process ended early.
  static let worker = Self("worker")
  /// The source's newest release is not served.
  static let release = Self("release")
}
