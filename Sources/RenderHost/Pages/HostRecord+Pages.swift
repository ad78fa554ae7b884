import CoreMetrics
import Foundation
import PageKit
import PageWorkers
import ServerKit

/// Events of bundles, pages and workers.
extension HostRecord {
  /// A page has got its bundle, or that of a page in it.
  func loaded(_ bundle: LoadedBundle) {
    metrics.answers(kind: "bundle", source: bundle.source == .store ? "disk" : bundle.source.rawValue).increment()
  }

  /// A page has got what it asked for.
  func answered(from source: Resource.Source) {
    let name =
      switch source {
      case .memory: "memory"
      case .disk, .release, .local: "disk"
      case .revalidated: "revalidated"
      case .network: "network"
      }
    metrics.answers(kind: "resource", source: name).increment()
  }

  /// Something was not fetched.
  func refused(_ refusal: AccessRefusal) {
    if case .address = refusal.rule { return metrics.refusals("address").increment() }
    metrics.refusals("origin").increment()
  }

  /// A worker had to go.
  ///
  /// - Parameter bundles: those that are to blame.
  func killed(_ reason: KillReason, bundles: [String]) {
    metrics.kills(reason.name).increment()
    failures.append(
      .worker, "\(reason)", of: bundles.isEmpty ? nil : bundles.sorted().joined(separator: ", "), cause: reason.cause)
  }

  /// A page was opened, or shown once.
  func opened(_ page: OpenedPage) {
    metrics.pagesOpened("live").increment()
    if let time = page.reply.timings["evaluated"] { entered("render", seconds: time) }
    if page.reply.newErrors > 0, let fault = page.reply.errors.last { threw(fault, in: page.location) }
  }

  /// A page came to nothing.
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

  /// A page's script had to be stopped.
  func killed(_ reason: KillReason, page location: String) {
    failures.append(.page, "\(reason)", of: location, cause: reason.cause)
  }

  func threw(_ fault: ScriptFault, in location: String) { failures.append(.page, fault.message, of: location) }

  /// - Parameters:
  ///   - kind: `render`, `fire`, `refresh`.
  ///   - seconds: a worker may have made them up.
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
