import CoreMetrics
import Foundation
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
    if case .address = refusal.rule { return metrics.refusals("address").increment() }
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
    case .killed(_, let reason): killed(reason, page: location)
    case .bundle(502, let reason): failures.append(.page, reason, of: location)
    default: break
    }
  }

  /// Counts a page whose script was stopped.
  func killed(_ reason: KillReason, page location: String) {
    failures.append(.page, "\(reason)", of: location, cause: reason.cause)
  }

  func threw(_ fault: ScriptFault, in location: String) { failures.append(.page, fault.message, of: location) }

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
