import HTTPTransport
import Synchronization

/// Numbers requests in the order in which they were sent, so that a late answer never takes the place of a newer one.
final class RequestSequencer: Sendable {
  private struct Activity {
    var underway = 0
    var newest: UInt64 = 0
    /// When the resource was last changed while requests were under way; 0 for never.
    var epoch: UInt64 = 0
  }

  private struct State {
    var last: UInt64 = 0
    var active: [CacheKey: Activity] = [:]
    /// Tags that were purged while requests were under way, and when.
    var purgedTags: [String: UInt64] = [:]
  }

  /// Tags that are remembered; with more, no answer that is under way counts.
  private static let tagLimit = 1_000

  private let state = Mutex(State())

  /// The newest there is.
  var current: UInt64 { state.withLock(\.last) }

  /// Begins a request, and returns its generation; to be ended.
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
      if state.active.isEmpty { state.purgedTags = [:] }
    }
  }

  /// Returns `true` if no response to a later request came before this one's, and none of its tags was purged since it
  /// was asked for. It counts as come from now on.
  func claim(_ generation: UInt64, for key: CacheKey, tags: [String] = []) -> Bool {
    state.withLock { state in
      if tags.contains(where: { state.purgedTags[$0] ?? 0 > generation }) { return false }
      guard let newest = state.active[key]?.newest else { return true }
      guard newest <= generation else { return false }
      state.active[key]?.newest = generation
      return true
    }
  }

  /// Marks the responses to all earlier requests for these keys as outdated, because the resources were changed.
  func supersede(_ keys: [CacheKey]) {
    state.withLock { state in
      state.last += 1
      for key in keys {
        state.active[key]?.newest = state.last
        state.active[key]?.epoch = state.last
      }
    }
  }

  /// Marks the responses to all earlier requests as outdated whose keys match.
  func supersede(where isMeant: (CacheKey) -> Bool) {
    let keys = state.withLock { state in state.active.keys.filter(isMeant) }
    supersede(keys)
  }

  /// Marks the responses to all earlier requests as outdated that turn out to have one of the tags.
  func supersede(tags: Set<String>) {
    state.withLock { state in
      state.last += 1
      guard !state.active.isEmpty else { return }
      let areTooMany = state.purgedTags.count + tags.count > Self.tagLimit
      if areTooMany { state.purgedTags = [:] }
      for tag in tags { state.purgedTags[tag] = state.last }
      for key in Array(state.active.keys) {
        if areTooMany { state.active[key]?.newest = state.last }
        // Until its answer comes nobody knows whether it has one.
        state.active[key]?.epoch = state.last
      }
    }
  }

  /// Differs before and after something was superseded: who asks after a change must not share what was asked before it.
  func epoch(of key: CacheKey) -> UInt64 { state.withLock { $0.active[key]?.epoch ?? 0 } }

  /// Keys with requests under way.
  var activeCount: Int { state.withLock(\.active.count) }
}
