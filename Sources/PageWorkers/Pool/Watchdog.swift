/// Decides from a sample of a worker if it must be killed. A pure function.
enum Watchdog {
  /// A page whose script is running.
  struct Running: Hashable, Sendable {
    let page: UInt64
    /// The time since it was entered.
    let seconds: Double
    /// The processor time since then; `nil` if it was not measured or is unknown.
    var processorSeconds: Double?
    /// The growth of the worker since then, in bytes.
    var growth: Int64 = 0
  }

  struct Sample: Hashable, Sendable {
    /// The running pages in the order of their entries.
    var running: [Running] = []
    /// The growth of the worker in each page's entries, in bytes.
    var growth: [UInt64: Int64] = [:]
    /// `nil` if it is unknown.
    var residentBytes: Int64?
    /// The seconds since the oldest overdue call was due; `nil` for none.
    var overdueCall: Double?
  }

  enum Verdict: Hashable, Sendable {
    case fine
    /// The worker may have to be killed soon; a replacement is started.
    case suspicious
    case kill(KillReason, culprits: Set<UInt64>)
  }

  struct Limits: Hashable, Sendable {
    /// The time limit of one entry in seconds.
    var time: Double
    var memory: Int64

    /// Seconds above the limit after which a worker is killed; the engine stops most scripts before.
    var grace: Double { max(0.25, time / 10) }
    /// The limit in seconds of the clock for a page that uses hardly any processor time.
    var wait: Double { time * 10 + 30 }
    /// The growth in bytes from which a page is to blame for its worker's memory.
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

  /// `true` if the processor time of a page is necessary: measuring it costs more than the clock.
  static func wantsProcessorTime(_ seconds: Double, _ limits: Limits) -> Bool { seconds > limits.time / 2 }

  /// On a busy machine only the processor time counts.
  private static func used(by running: Running) -> Double { running.processorSeconds ?? running.seconds }

  /// The page with the largest growth, if that is a considerable share; else no page is to blame.
  private static func culprits(_ look: Sample, _ limits: Limits) -> Set<UInt64> {
    var growth = look.growth
    for running in look.running { growth[running.page, default: 0] += running.growth }
    guard let most = growth.max(by: { ($0.value, $0.key) < ($1.value, $1.key) }), most.value >= limits.share else {
      return []
    }
    return [most.key]
  }
}
