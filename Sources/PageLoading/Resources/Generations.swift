import PageCore
import Synchronization

/// Numbers requests in the order in which they were sent, so that a late answer never takes the place of a newer one.
final class Generations: Sendable {
  private struct Activity {
    var underway = 0
    var newest: UInt64 = 0
    /// When the resource was last changed while requests were under way; 0 for never.
    var epoch: UInt64 = 0
  }

  private struct State {
    var last: UInt64 = 0
    var active: [CacheKey: Activity] = [:]
  }

  private let state = Mutex(State())

  /// The newest there is.
  var current: UInt64 { state.withLock(\.last) }

  /// For a request that is sent now; to be ended.
  func begin(_ key: CacheKey) -> UInt64 {
    state.withLock { state in
      state.last += 1
      state.active[key, default: Activity()].underway += 1
      return state.last
    }
  }

  func end(_ key: CacheKey) {
    state.withLock { state in
      guard var activity = state.active[key] else { return }
      activity.underway -= 1
      state.active[key] = activity.underway > 0 ? activity : nil
    }
  }

  /// Whether no answer to a later request has come before this one's. It counts as come from now on.
  func claim(_ generation: UInt64, for key: CacheKey) -> Bool {
    state.withLock { state in
      guard let newest = state.active[key]?.newest else { return true }
      guard newest <= generation else { return false }
      state.active[key]?.newest = generation
      return true
    }
  }

  /// Answers to what was sent before now say nothing of now: the resource was changed.
  func supersede(_ keys: [CacheKey]) {
    state.withLock { state in
      state.last += 1
      for key in keys {
        state.active[key]?.newest = state.last
        state.active[key]?.epoch = state.last
      }
    }
  }

  /// Differs before and after ``supersede(_:)``: who asks after a change must not share what was asked before it.
  func epoch(of key: CacheKey) -> UInt64 { state.withLock { $0.active[key]?.epoch ?? 0 } }

  /// Keys with requests under way.
  var activeCount: Int { state.withLock(\.active.count) }
}
