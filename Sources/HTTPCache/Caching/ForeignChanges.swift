import Dispatch
import Synchronization

/// Notices that another process has changed what a cache keeps. It looks once a second at most.
final class ForeignChanges: Sendable {
  /// Nanoseconds since the machine's start; 0 for never.
  private let lookedAt = Atomic<UInt64>(0)
  private let count = Atomic<Int64>(0)

  /// Returns `true` if it has looked less than a second ago.
  var areKnown: Bool { !Self.isDue(lookedAt.load(ordering: .relaxed), DispatchTime.now().uptimeNanoseconds) }

  /// Returns `true` if there are new changes; `false` also if it is not yet time to look.
  ///
  /// - Parameter count: a number that changes with them.
  func areNew(_ count: () -> Int64) -> Bool {
    let (last, now) = (lookedAt.load(ordering: .relaxed), DispatchTime.now().uptimeNanoseconds)
    guard Self.isDue(last, now),
      lookedAt.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged
    else { return false }
    let count = count()
    return self.count.exchange(count, ordering: .relaxed) != count
  }

  private static func isDue(_ last: UInt64, _ now: UInt64) -> Bool { last == 0 || now &- last >= 1_000_000_000 }
}
