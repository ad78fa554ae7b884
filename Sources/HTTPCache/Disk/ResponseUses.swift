import Blobs
import GRDB
import HTTPTransport
import Synchronization

/// When responses were used lately, in memory: reading writes to the disk rarely, and eviction still takes what was used
/// least recently.
///
/// A row of the index has a time of use as well, which may be too early, never too late. Eviction begins with the earliest
/// times in the index; a response that was used later according to this value gets its time, and its turn comes then.
struct ResponseUses: Sendable {
  /// A time in microseconds since 1970, in the order of the uses, and that in the index; `nil` if it is not known.
  private typealias Use = (time: Int64, stored: Int64?)

  /// The largest difference between the time of a use and the one in the index that is left as it is: an hour, in
  /// microseconds. Other processes with the same folder, and later ones, see uses as exactly as that.
  static let tolerance: Int64 = 3_600 * 1_000_000
  /// The least time between two looks for differences: a minute, in microseconds.
  static let period: Int64 = 60 * 1_000_000

  /// The largest number of responses whose uses are known.
  private let limit: Int
  private var uses: [Int64: Use] = [:]
  /// The times in the index of responses that were read lately, until their uses are recorded.
  private var read: [Int64: Int64] = [:]
  /// The largest number of those. Uses are recorded 256 at a time.
  private static let readLimit = 1_024
  /// The latest time of use that was given out here; `nil` before the first.
  private(set) var latest: Int64?
  /// When differences were looked for last.
  private var checked: Int64?

  /// - Parameter limit: responses whose uses are known, at most. Half of them are forgotten when there are more.
  init(limit: Int = 16_384) { self.limit = max(2, limit) }

  /// Returns when a response was used last; `nil` if that is not known here.
  func time(of id: Int64) -> Int64? { uses[id]?.time }

  /// Records that a row of the index has got a time of use, after which no use gets an earlier one.
  mutating func advance(to time: Int64) { latest = max(latest ?? time, time) }

  /// Notes the time that the index has for a response which was read, and may be used next: it need not be asked for it
  /// then.
  mutating func note(_ time: Int64, for id: Int64) {
    if read.count >= Self.readLimit { read.removeAll(keepingCapacity: true) }
    read[id] = time
  }

  /// Records uses, each later than all before, whatever the clock does.
  ///
  /// - Parameters:
  ///   - ids: the responses; the one used last at the end.
  ///   - now: microseconds since 1970.
  /// - Returns: the responses whose time in the index may be too early by more than the tolerance, with the times of
  ///   their uses; none if it is not yet time to look.
  mutating func record(_ ids: [Int64], at now: Int64) -> [(id: Int64, time: Int64)] {
    if checked == nil { checked = now }
    for id in ids {
      let time = max(now, (latest ?? .min) &+ 1)
      latest = time
      uses[id] = (time: time, stored: read.removeValue(forKey: id) ?? uses[id]?.stored)
    }
    let isFull = uses.count > limit
    guard isFull || now &- (checked ?? now) >= Self.period else { return [] }
    checked = now
    defer { if isFull { forgetHalf() } }
    return late()
  }

  /// Returns the responses whose time in the index may be too early by more than the tolerance, with the times of their
  /// uses, in the order of their ids.
  func late() -> [(id: Int64, time: Int64)] {
    uses.compactMap { id, use in
      use.stored.map { use.time &- $0 < Self.tolerance } ?? false ? nil : (id, use.time)
    }.sorted { $0.id < $1.id }
  }

  /// Records the time that the index has for a response.
  ///
  /// - Parameter time: `nil` if the response is not stored any more.
  mutating func found(_ time: Int64?, for id: Int64) {
    if let time { uses[id]?.stored = time } else { uses[id] = nil }
  }

  private mutating func forgetHalf() {
    let earliest = uses.sorted { $0.value.time < $1.value.time }.prefix(uses.count - limit / 2)
    for (id, _) in earliest { uses[id] = nil }
  }
}

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
    queues.background { [index, queues] in Self.write(late[...], index, queues) { _, _ in } }
  }

  /// Records uses; the last one at the end.
  ///
  /// - Parameter now: microseconds since 1970.
  /// - Throws: ``StoreError`` if the index cannot be read.
  func record(_ ids: [Int64], at now: Int64) throws {
    if uses.withLock({ $0.latest }) == nil {
      advance(to: try index.read { try ResponseRow.nextUse($0, at: .min) })
    }
    let late = uses.withLock { $0.record(ids, at: now) }
    guard !late.isEmpty else { return }
    queues.background { [self] in
      Self.write(late[...], index, queues) { [weak self] id, time in self?.uses.withLock { $0.found(time, for: id) } }
    }
  }

  /// Notes the time that the index has for a response which was read.
  func note(_ time: Int64, for id: Int64) { uses.withLock { $0.note(time, for: id) } }

  /// Returns when a response was used last; `nil` if that is not known here.
  func time(of id: Int64) -> Int64? { uses.withLock { $0.time(of: id) } }

  /// Returns the earliest time from which on nothing is recorded as used, neither here nor in the index.
  ///
  /// - Parameter now: microseconds since 1970.
  func nextUse(_ now: Int64) -> Int64 { uses.withLock { max(now, ($0.latest ?? .min) &+ 1) } }

  /// Records that a row of the index has got a time of use.
  func advance(to time: Int64) { uses.withLock { $0.advance(to: time) } }

  /// Writes times of use, a few at a time: others get on between. Times that cannot be written are tried again with later uses.
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
        // No other process has to look again for that.
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
    if !rest.isEmpty { queues.background { write(rest, index, queues, found) } }
  }
}
