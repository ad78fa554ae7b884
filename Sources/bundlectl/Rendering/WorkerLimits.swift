import PageKit
import PageWorkers

/// The limits of a page's process.
struct WorkerLimits: Hashable, Sendable {
  /// The time of one entry into a script.
  var time: Duration
  /// Resident bytes of the process; `nil` for a page in this process, which has no limit.
  var memory: Int64?

  /// The reason why a page was stopped, with the limit and its option.
  func fault(_ reason: KillReason, _ url: PageURL) -> RenderFault {
    let page = url.readable
    let text =
      switch reason {
      case .time:
        "\(page) was stopped: a script of it ran for longer than \(time.inSeconds), which is the limit (--page-time)"
      case .memory:
        "\(page) was stopped: it exceeded the memory limit of its process, \((memory ?? 0) >> 20) MiB (--memory)"
      case .silence:
        "\(page) was stopped: its process did not answer, long after the limit of \(time.inSeconds) for a script (--page-time)"
      case .malformed, .ended, .shutdown: "\(page) was stopped: \(reason)"
      }
    return RenderFault(text, url: url.text)
  }

  /// The text of a worker's error.
  func fault(_ error: any Error, _ url: PageURL) -> RenderFault {
    switch error {
    case PageFault.stopped(let reason), WorkerError.ended(let reason, _): return fault(reason, url)
    case PageFault.script(let thrown): return RenderFault(thrown.exception)
    case PageFault.refused(let reason): return RenderFault(reason)
    case PageFault.unknownPage: return RenderFault("\(url.readable): the page has ended", url: url.text)
    case WorkerError.noMemory:
      return RenderFault(
        "\(url.readable) cannot be opened: the memory limit of its process, \((memory ?? 0) >> 20) MiB, is too low (--memory)",
        url: url.text)
    default: return RenderFault("\(url.readable) cannot be opened: \(error.sentence)", url: url.text)
    }
  }
}
