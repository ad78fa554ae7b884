/// What a look at a worker calls for. Pure.
enum Watch {
  struct Look: Hashable, Sendable {
    /// Pages in the order in which they were entered.
    var running: [(page: UInt64, seconds: Double)] = []
    /// The page that was entered last.
    var last: UInt64?
    /// Nil where it cannot be known.
    var residentBytes: Int64?
    /// Seconds since the oldest call that is due by now was due; nil for none.
    var overdueCall: Double?

    static func == (left: Look, right: Look) -> Bool {
      left.running.elementsEqual(right.running) { $0 == $1 } && left.last == right.last
        && left.residentBytes == right.residentBytes && left.overdueCall == right.overdueCall
    }

    func hash(into hasher: inout Hasher) { hasher.combine(last) }
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
  }

  static func verdict(_ look: Look, _ limits: Limits) -> Verdict {
    if let found = look.residentBytes, found > limits.memory {
      // Who has been running longest has taken most, as a rule; where nobody runs, who ran last.
      let culprit = look.running.max { $0.seconds < $1.seconds }?.page ?? look.last
      return .kill(.memory(found: found, limit: limits.memory), culprits: culprit.map { [$0] } ?? [])
    }
    let overdue = look.running.filter { $0.seconds > limits.time + limits.grace }
    if let longest = overdue.map(\.seconds).max() {
      return .kill(.time(took: longest, limit: limits.time), culprits: Set(overdue.map(\.page)))
    }
    if let late = look.overdueCall, late > 0 { return .kill(.silence, culprits: []) }
    let isSuspicious = look.running.contains { $0.seconds > limits.time / 2 }
    return isSuspicious ? .suspicious : .fine
  }
}
