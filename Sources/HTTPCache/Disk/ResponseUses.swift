/// When responses were used lately, in memory: reading writes to the disk rarely, and eviction still takes what was used
/// least recently.
///
/// A row of the index has a time of use as well, which may be too early, never too late. Eviction begins with the earliest
/// times in the index; a response that was used later according to this value gets its time, and its turn comes then.
struct ResponseUses: Sendable {
  private struct Use {
    /// Microseconds since 1970, in the order of the uses.
    var time: Int64
    /// The time in the index; `nil` if it is not known.
    var stored: Int64?
  }

  /// The largest difference between the time of a use and the one in the index that is left as it is: an hour, in
  /// microseconds. Other processes with the same folder, and later ones, see uses as exactly as that.
  static let tolerance: Int64 = 3_600 * 1_000_000
  /// The least time between two looks for differences: a minute, in microseconds.
  static let period: Int64 = 60 * 1_000_000

  /// The largest number of responses whose uses are known.
  private let limit: Int
  private var uses: [Int64: Use] = [:]
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

  /// Records uses, each later than all before, whatever the clock does.
  ///
  /// - Parameters:
  ///   - ids: the responses; the one used last at the end.
  ///   - now: microseconds since 1970.
  /// - Returns: the responses whose time in the index may be too early by more than the tolerance, with the times of
  ///   their uses; none if it is not yet time to look.
  mutating func note(_ ids: [Int64], at now: Int64) -> [(id: Int64, time: Int64)] {
    if checked == nil { checked = now }
    for id in ids {
      let time = max(now, (latest ?? .min) &+ 1)
      latest = time
      uses[id, default: Use(time: time)].time = time
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
