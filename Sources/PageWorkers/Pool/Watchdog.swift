/// Decides from a sample of a worker whether it has to be killed. Pure.
enum Watchdog {
  /// A page whose script is running.
  struct Running: Hashable, Sendable {
    let page: UInt64
    /// Since it was entered.
    let seconds: Double
    /// The processor's, since then; `nil` if nobody has asked, or the system does not tell.
    var processorSeconds: Double?
    /// Bytes by which the worker has grown since then.
    var growth: Int64 = 0
  }

  struct Sample: Hashable, Sendable {
    /// In the order in which they were entered.
    var running: [Running] = []
    /// By how many bytes the worker has grown in each page's entries.
    var growth: [UInt64: Int64] = [:]
    /// `nil` if it cannot be known.
    var residentBytes: Int64?
    /// Seconds since the oldest call that is due by now was due; `nil` for none.
    var overdueCall: Double?
  }

  enum Verdict: Hashable, Sendable {
    case fine
    /// It may have to be killed soon: another is to be ready then.
    case suspicious
    case kill(KillReason, culprits: Set<UInt64>)
  }

  struct Limits: Hashable, Sendable {
    /// Seconds of one entry.
    var time: Double
    var memory: Int64

    /// The engine stops most scripts by itself, and spares the worker; what is beyond it is killed.
    var grace: Double { max(0.25, time / 10) }
    /// Seconds of the clock after which a page is stopped that uses no processor, or hardly gets any.
    var wait: Double { time * 10 + 30 }
    /// A page is to blame for a worker's memory that has taken as much of it.
    var share: Int64 { memory / 4 }
  }

  static func verdict(_ look: Sample, _ limits: Limits) -> Verdict {
    if let found = look.residentBytes, found > limits.memory {
      return .kill(.memory(found: found, limit: limits.memory), culprits: culprits(look, limits))
    }
    let overdue = look.running.filter { used(by: $0) > limits.time + limits.grace }
    if let longest = overdue.map(used).max() {
      return .kill(.time(took: longest, limit: limits.time), culprits: Set(overdue.map(\.page)))
    }
    let blocked = look.running.filter { $0.seconds > limits.wait }
    if !blocked.isEmpty { return .kill(.silence, culprits: Set(blocked.map(\.page))) }
    if let late = look.overdueCall, late > 0 { return .kill(.silence, culprits: []) }
    let isSuspicious = look.running.contains { used(by: $0) > limits.time / 2 }
    return isSuspicious ? .suspicious : .fine
  }

  /// Whether the processor's time of a page has to be asked for: it costs more than the clock's.
  static func wantsProcessorTime(_ seconds: Double, _ limits: Limits) -> Bool { seconds > limits.time / 2 }

  /// A busy machine is nobody's fault: what counts is the processor's time.
  private static func used(by running: Running) -> Double { running.processorSeconds ?? running.seconds }

  /// The page that has taken most, where that is a good part: where many have little, none is to blame.
  private static func culprits(_ look: Sample, _ limits: Limits) -> Set<UInt64> {
    var growth = look.growth
    for running in look.running { growth[running.page, default: 0] += running.growth }
    guard let most = growth.max(by: { ($0.value, $0.key) < ($1.value, $1.key) }), most.value >= limits.share else {
      return []
    }
    return [most.key]
  }
}
