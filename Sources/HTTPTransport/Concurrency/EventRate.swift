/// Limits the events of a client or process, such as lines that it logs, in periods. A pure value.
package struct EventRate: Sendable {
  /// The place of an event within the limit or beyond it.
  package enum Verdict: Sendable {
    case permitted
    /// The first one of a period beyond the limit.
    case firstBeyond
    case beyond
  }

  private let limit: Int
  private let period: Duration
  private var count = 0
  private var start: Duration?

  /// - Parameters:
  ///   - limit: the events of a period.
  ///   - period: begins with an event.
  package init(limit: Int, period: Duration) { (self.limit, self.period) = (limit, period) }

  /// Counts an event.
  ///
  /// - Parameter time: since a moment that is the same for all events.
  package mutating func verdict(at time: Duration) -> Verdict {
    if let start, time - start < period {
      count += 1
    } else {
      (start, count) = (time, 1)
    }
    return count <= limit ? .permitted : count == limit + 1 ? .firstBeyond : .beyond
  }
}
