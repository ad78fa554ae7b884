/// Why a worker did not do what was asked of it.
package enum WorkerError: Error, Hashable, Sendable, CustomStringConvertible {
  case cannotStart(String)
  /// It was killed, or ended; whether the page that was called is to blame.
  case ended(KillReason, isCulprit: Bool)
  /// No worker is there that could take a page.
  case noWorker
  /// The workers' memory is used up, and more pages would cost those that are open.
  case noMemory(limit: Int64)
  /// The bundle has ended too many workers.
  case barred(BarredBundles.Entry)

  package var description: String {
    switch self {
    case .cannotStart(let reason): "a worker cannot be started: \(reason)"
    case .ended(let reason, true): "the page's worker was stopped: \(reason)"
    case .ended(let reason, false): "the page's worker was stopped because of another page: \(reason)"
    case .noWorker: "no worker is ready"
    case .noMemory(let limit):
      "the open pages fill the memory of every worker, \(limit >> 20) MiB each (--worker-memory)"
    case .barred(let entry): "\(entry)"
    }
  }
}

/// Why a worker had to go, or a script was stopped.
package enum KillReason: Hashable, Sendable, Codable, CustomStringConvertible {
  /// An entry into a page took too long; both in seconds. `took` is `nil` where the engine stopped the script by itself.
  case time(took: Double?, limit: Double)
  /// Resident memory in bytes.
  case memory(found: Int64, limit: Int64)
  /// It did not answer.
  case silence
  /// What it sent was no message.
  case malformed(String)
  /// It ended by itself, or somebody else ended it.
  case ended(String)
  /// The daemon is being stopped.
  case shutdown

  /// For metrics.
  package var name: String {
    switch self {
    case .time: "time"
    case .memory: "memory"
    case .silence: "silence"
    case .malformed: "malformed"
    case .ended: "ended"
    case .shutdown: "shutdown"
    }
  }

  /// Equal for kills for the same reason, whatever was measured.
  package var cause: String {
    switch self {
    case .time, .memory: name
    case .silence, .malformed, .ended, .shutdown: description
    }
  }

  package var description: String {
    switch self {
    case .time(let took?, let limit):
      "a script ran for \(Self.tenths(took)) s, \(Self.tenths(limit)) s are allowed (--page-time)"
    case .time(nil, let limit): "a script ran for longer than \(Self.tenths(limit)) s (--page-time)"
    case .memory(let found, let limit):
      "\(found >> 20) MiB of memory were in use, \(limit >> 20) MiB are allowed (--worker-memory)"
    case .silence: "the worker did not answer"
    case .malformed(let reason): "the worker sent what is no message: \(reason)"
    case .ended(let how): "the worker process has ended: \(how)"
    case .shutdown: "the daemon is being stopped"
    }
  }

  private static func tenths(_ seconds: Double) -> Double { (seconds * 10).rounded() / 10 }
}
