import HTTPTransport
import Synchronization

/// Tells if a response in memory is still current: since it was read, no variant of its key was added, replaced or
/// removed.
///
/// It is a separate object, so that a reference to it does not keep the response's bytes in memory.
final class CacheValidity: Sendable {
  private enum Phase {
    /// Never in memory.
    static let none: UInt8 = 0
    static let held: UInt8 = 1
    static let over: UInt8 = 2
  }

  let key: CacheKey
  let id: Int64
  private let phase = Atomic<UInt8>(Phase.none)
  private let usedAt = Atomic<Int64>(.min)

  init(_ entry: ResponseEntry) { (key, id) = (entry.key, entry.id) }

  var holds: Bool { phase.load(ordering: .acquiring) == Phase.held }
  var isOver: Bool { phase.load(ordering: .acquiring) == Phase.over }

  func begin() { _ = phase.compareExchange(expected: Phase.none, desired: Phase.held, ordering: .releasing) }
  func end() { phase.store(Phase.over, ordering: .releasing) }

  /// Returns `true` if this use is the first for a while.
  func isNews(at second: Int64, every period: Int64 = 8) -> Bool {
    let last = usedAt.load(ordering: .relaxed)
    guard second &- last >= period || last == .min || second < last else { return false }
    return usedAt.compareExchange(expected: last, desired: second, ordering: .relaxed).exchanged
  }
}
