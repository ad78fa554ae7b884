import Foundation
import PageKit

/// The status of a worker, for metrics and people.
package struct WorkerStatus: Hashable, Sendable, Codable {
  package enum State: String, Hashable, Sendable, Codable {
    case starting
    case ready
    /// Killed, and not yet reaped.
    case ending
  }

  /// The number of the worker, from 1; not that of the process.
  package var id: Int
  /// The number of its place, from 1: the lowest free one at its start.
  package var slot: Int
  package var pid: Int32
  package var state: State
  package var residentBytes: Int64
  package var pages: Int
  /// The seconds of the longest running entry; 0 for none.
  package var busy: Double
  /// `nil` before it is ready.
  package var confinement: ConfinementReport?
  package var started: Date
  /// The number of premature ends of workers in this place.
  package var kills: Int

  /// Its activity: its state, or `busy` while a page runs.
  package var activity: String { state == .ready && busy > 0 ? "busy" : state.rawValue }
}

/// The status of all workers, and counts of ended ones.
package struct WorkerPoolStatus: Sendable {
  package var workers: [WorkerStatus]
  /// The configured number.
  package var wanted: Int
  /// The largest number of places so far.
  package var slots: Int
  package var barred: [BarredBundles.Entry]
  /// The reason why the worker that was started last did not become ready; `nil` if it did.
  package var problem: String?
  /// The reason why workers run no scripts, with the package to install; `nil` if they do.
  package var engineProblem: String?

  package var ready: Int { workers.filter { $0.state == .ready }.count }
}

/// The page to blame for the end of a worker, as one of its pages is told.
package enum Blame: Hashable, Sendable, CustomStringConvertible {
  case thisPage, anotherPage
  /// No page: the worker has ended by itself, or was killed from outside.
  case noPage

  init(_ page: UInt64, among culprits: Set<UInt64>) {
    self = culprits.contains(page) ? .thisPage : culprits.isEmpty ? .noPage : .anotherPage
  }

  package var description: String { self == .anotherPage ? " because of another page" : "" }
}

/// An error of a call to a worker.
package enum WorkerError: Error, Hashable, Sendable, CustomStringConvertible {
  case cannotStart(String)
  /// Workers cannot load the script engine.
  case cannotRun(String)
  /// The worker was killed or ended.
  case ended(KillReason, Blame)
  /// No worker is available for a page.
  case noWorker
  /// The workers' memory is full; another page would endanger the open ones.
  case noMemory(limit: Int64)
  /// Too many calls wait for a worker.
  case full(waiting: Int)
  /// The call has waited too long for a worker.
  case late(after: Duration)
  /// The bundle is barred since it ended too many workers.
  case barred(BarredBundles.Entry)

  package var description: String { text(LimitHints()) }

  /// - Parameter hints: name what its reader can change.
  package func text(_ hints: LimitHints) -> String {
    switch self {
    case .cannotStart(let reason): "a worker cannot be started: \(reason)"
    case .cannotRun(let reason): "pages cannot run here: \(reason)"
    case .ended(let reason, let blame): "the page's worker was stopped\(blame): \(reason.text(hints))"
    case .noWorker: "no worker is ready"
    case .noMemory(let limit):
      "the open pages fill the memory of every worker, \(limit >> 20) MiB each\(hints.memory)"
    case .full(let waiting): "the workers are busy, and \(waiting) calls wait for them already\(hints.queue)"
    case .late(let time): "the workers were busy for \(time.inSeconds)\(hints.waiting)"
    case .barred(let entry): entry.text(hints)
    }
  }

  /// The error for those who use pages: without what the process has written.
  package func told(_ hints: LimitHints) -> String {
    if case .ended(.ended(let how, _), let blame) = self {
      Self.ended(.ended(how), blame).text(hints)
    } else {
      text(hints)
    }
  }
}

/// The ends of sentences about limits, which name the setting that a reader can change; by default those of the daemon.
package struct LimitHints: Hashable, Sendable {
  package var pages = " (--max-pages)"
  package var memory = " (--worker-memory)"
  package var queue = " (--page-queue)"
  package var waiting = " (--page-wait)"
  /// How pages are drawn.
  package var pictures = ": start it with --pictures"
  /// The program that runs the workers.
  package var program = "the daemon"

  package init() {}
}

/// The reason why a worker ended, or a script was stopped.
package enum KillReason: Hashable, Sendable, Codable, CustomStringConvertible {
  /// An entry into a page exceeded its time, in seconds. `took` is `nil` if the engine stopped the script.
  case time(took: Double?, limit: Double)
  /// The elements of a page were changed or laid out for longer than they may, in seconds.
  case layout(took: Double, limit: Double)
  /// The resident memory exceeded its limit in bytes.
  case memory(found: Int64, limit: Int64)
  /// The worker did not answer.
  case silence
  /// The worker sent an invalid message.
  case malformed(String)
  /// The worker ended by itself, or was killed from outside. `lastWords` is what it wrote to its standard error.
  case ended(String, lastWords: String = "")
  /// The daemon is shutting down.
  case shutdown

  /// - Returns: `nil` for an error that has stopped no script.
  init?(_ error: ScriptError) {
    switch error {
    case .timeLimit(let limit): self = .time(took: nil, limit: limit.seconds)
    case .memoryLimit(let limit, let found): self = .memory(found: found, limit: limit)
    default: return nil
    }
  }

  /// `true` if the engine's own alarm has ended the process, which is no page's fault: an assertion of JavaScriptCore
  /// 2.50.6 fails if an alarm comes at the moment when another one is being handled.
  var isAlarmFault: Bool {
    if case .ended(_, let lastWords) = self { lastWords.contains("VMTraps25requestThreadStopIfNeeded") } else { false }
  }

  /// The name for metrics.
  package var name: String {
    switch self {
    case .time, .layout: "time"
    case .memory: "memory"
    case .silence: "silence"
    case .malformed: "malformed"
    case .ended: "ended"
    case .shutdown: "shutdown"
    }
  }

  /// Compares only the reasons, not the measured values.
  package var cause: String {
    switch self {
    case .time, .memory: name
    case .layout: "layout"
    case .ended(let how, _): KillReason.ended(how).description
    case .silence, .malformed, .shutdown: description
    }
  }

  /// The reason for those who use pages: without what the process has written, which is for who runs it.
  package var told: String { told(LimitHints()) }

  /// - Parameter hints: name what its reader can change.
  package func told(_ hints: LimitHints) -> String {
    if case .ended(let how, _) = self { Self.ended(how).description } else { text(hints) }
  }

  package var description: String { text(LimitHints()) }

  func text(_ hints: LimitHints) -> String {
    switch self {
    case .time(let took?, let limit):
      "a script ran for \(Self.tenths(took)) s, the limit is \(Self.tenths(limit)) s (--page-time)"
    case .time(nil, let limit): "a script ran for longer than \(Self.tenths(limit)) s (--page-time)"
    case .layout(let took, let limit):
      "a page's elements were changed and laid out for \(Self.tenths(took)) s, the limit is \(Self.tenths(limit)) s (--page-time, or 5 s if that is less)"
    case .memory(let found, let limit):
      "\(found >> 20) MiB of memory were in use, the limit is \(limit >> 20) MiB\(hints.memory)"
    case .silence: "the worker did not answer"
    case .malformed(let reason): "the worker sent an invalid message: \(reason)"
    case .ended(let how, let lastWords):
      "the worker process has ended: \(how)\(lastWords.isEmpty ? "" : " with the message \"\(lastWords)\"")"
    case .shutdown: "\(hints.program) is shutting down"
    }
  }

  private static func tenths(_ seconds: Double) -> Double { (seconds * 10).rounded() / 10 }
}
