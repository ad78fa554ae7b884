import DiskStorage
import GRDB
import HTTPTransport
import Synchronization

/// The uses of a store's responses: it keeps them in memory, and writes to the index, now and then, those whose time
/// there is too early by more than ``ResponseUses/tolerance``; the last ones when the store ends.
final class UseRecord: Sendable {
  private let index: ResponseIndex
  private let queues: StoreQueues
  private let uses = Mutex(ResponseUses())

  /// Responses of one transaction.
  private static let stepSize = 128

  /// - Parameter queues: those of the store. Uses are recorded on the one for changes, so that none is recorded during an
  ///   eviction.
  init(_ index: ResponseIndex, _ queues: StoreQueues) { (self.index, self.queues) = (index, queues) }

  deinit {
    let late = uses.withLock { $0.late() }
    guard !late.isEmpty else { return }
    queues.later { [index, queues] in Self.write(late[...], index, queues) { _, _ in } }
  }

  /// Records uses; the last one at the end.
  ///
  /// - Parameter now: microseconds since 1970.
  /// - Throws: ``StoreError`` if the index cannot be read.
  func note(_ ids: [Int64], at now: Int64) throws {
    if uses.withLock({ $0.latest }) == nil {
      advance(to: try index.read { try ResponseRow.nextUse($0, at: .min) })
    }
    let late = uses.withLock { $0.note(ids, at: now) }
    guard !late.isEmpty else { return }
    queues.later { [self] in
      Self.write(late[...], index, queues) { [weak self] id, time in self?.uses.withLock { $0.found(time, for: id) } }
    }
  }

  /// Returns when a response was used last; `nil` if that is not known here.
  func time(of id: Int64) -> Int64? { uses.withLock { $0.time(of: id) } }

  /// Returns the earliest time from which on nothing is recorded as used, neither here nor in the index.
  ///
  /// - Parameter now: microseconds since 1970.
  func nextUse(_ now: Int64) -> Int64 { uses.withLock { max(now, ($0.latest ?? .min) &+ 1) } }

  /// Records that a row of the index has got a time of use.
  func advance(to time: Int64) { uses.withLock { $0.advance(to: time) } }

  /// Writes times of use, a few at a time: others get on between. What cannot be written is tried again with later uses.
  ///
  /// - Parameter found: is told the time that the index has for a response now.
  private static func write(
    _ late: ArraySlice<(id: Int64, time: Int64)>, _ index: ResponseIndex, _ queues: StoreQueues,
    _ found: @escaping @Sendable (_ id: Int64, _ time: Int64?) -> Void
  ) {
    let step = Array(late.prefix(stepSize))
    do {
      let times = try index.read { db in
        try step.map { use in
          try db.firstRow("SELECT usedAt FROM response WHERE id = ?", [use.id]) { try $0.value("usedAt") as Int64 }
        }
      }
      var changes: [(id: Int64, time: Int64)] = []
      for (use, time) in zip(step, times) {
        if let time, use.time &- time >= ResponseUses.tolerance { changes.append(use) } else { found(use.id, time) }
      }
      if !changes.isEmpty {
        // Nobody else has to look again for that.
        try index.write(isChange: false) { [changes] db in
          let statement = try db.cachedStatement(sql: "UPDATE response SET usedAt = ? WHERE id = ? AND usedAt < ?")
          for use in changes { try statement.execute(arguments: [use.time, use.id, use.time]) }
        }
        for use in changes { found(use.id, use.time) }
      }
    } catch {
      return
    }
    let rest = late.dropFirst(step.count)
    if !rest.isEmpty { queues.later { write(rest, index, queues, found) } }
  }
}
