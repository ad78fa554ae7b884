import HTTPTransport
import Synchronization

/// Gives responses their ids, which grow with the time: rows that are stored one after the other lie side by side in the
/// index. The last bits are random, so that processes with one folder do not give the same.
struct ResponseIDs: ~Copyable, Sendable {
  private static let randomBits = 11

  private let last = Atomic<Int64>(0)

  /// - Parameter now: microseconds since 1970; ids are above 0 until the year 2112.
  func next(at now: Int64) -> Int64 {
    let random = Int64(UniqueNumber.next() >> (64 - Self.randomBits))
    var known = last.load(ordering: .relaxed)
    while true {
      let id = max(now &<< Self.randomBits | random, known &+ 1 &+ random)
      let (isOurs, other) = last.compareExchange(expected: known, desired: id, ordering: .relaxed)
      if isOurs { return id }
      known = other
    }
  }
}
