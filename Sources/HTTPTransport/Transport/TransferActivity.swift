import Synchronization

/// When the server last sent something, by the URL it was asked for: whoever waits for a transfer that others share can
/// tell whether it makes progress.
package final class TransferActivity: Sendable {
  private let state = Mutex<[PageURL: (underway: Int, last: Duration?)]>([:])
  private let now: @Sendable () -> Duration

  package init(_ time: TimeSource = .system) { now = time.now }

  /// Counts from now on, until the result is ended.
  package func begin(_ url: PageURL) { state.withLock { $0[url, default: (0, nil)].underway += 1 } }

  package func end(_ url: PageURL) {
    state.withLock { state in
      guard let entry = state[url] else { return }
      state[url] = entry.underway > 1 ? (entry.underway - 1, entry.last) : nil
    }
  }

  package func note(_ url: PageURL) {
    let now = now()
    state.withLock { state in
      if state[url] != nil { state[url]?.last = now }
    }
  }

  /// Returns `nil` if nothing is under way, or nothing has come yet.
  package func last(_ url: PageURL) -> Duration? { state.withLock { $0[url]?.last } }
}
