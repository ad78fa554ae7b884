import Synchronization

/// The times at which servers last sent bytes, by request URL. With it a waiter sees the progress of a transfer that it
/// shares with others.
package final class TransferActivity: Sendable {
  private let state = Mutex<[PageURL: (underway: Int, last: Duration?)]>([:])
  private let now: @Sendable () -> Duration

  package init(_ time: TimeSource = .system) { now = time.now }

  /// Records the URL's activity from now on, until ``end(_:)``.
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

  /// The time of the last bytes; `nil` if no transfer is under way, or no bytes have arrived.
  package func last(_ url: PageURL) -> Duration? { state.withLock { $0[url]?.last } }
}
