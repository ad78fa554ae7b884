import Synchronization

/// The times at which servers last sent bytes, and the failures to reach them, by request URL. With it a waiter sees the
/// progress of a transfer that it shares with others.
package final class TransferActivity: Sendable {
  private typealias Entry = (underway: Int, last: Duration?, failure: TransportError?)

  private let state = Mutex<[PageURL: Entry]>([:])
  private let now: @Sendable () -> Duration

  package init(_ time: TimeSource = .system) { now = time.now }

  /// Records the URL's activity from now on, until ``end(_:)``.
  package func begin(_ url: PageURL) { state.withLock { $0[url, default: (0, nil, nil)].underway += 1 } }

  package func end(_ url: PageURL) {
    state.withLock { state in
      guard var entry = state[url] else { return }
      entry.underway -= 1
      state[url] = entry.underway > 0 ? entry : nil
    }
  }

  package func record(_ url: PageURL) {
    let now = now()
    state.withLock { state in
      guard state[url] != nil else { return }
      state[url]?.last = now
      state[url]?.failure = nil
    }
  }

  /// The time of the last bytes; `nil` if no transfer is under way, or no bytes have arrived.
  package func last(_ url: PageURL) -> Duration? { state.withLock { $0[url]?.last } }

  /// Sent when a transfer under way could not reach its server.
  package let failures = Signal()

  /// Records that an attempt of a transfer under way has failed, if that tells that its server cannot be reached now: its
  /// host has no address, or refuses connections.
  package func fail(_ url: PageURL, _ error: any Error) {
    guard let error = error as? TransportError else { return }
    switch error {
    case .cannotResolve, .cannotConnect: break
    default: return
    }
    state.withLock { state in
      if state[url] != nil { state[url]?.failure = error }
    }
    failures.send()
  }

  /// The reason why the last attempt of a transfer under way could not reach its server; `nil` if it did, or if none has
  /// ended.
  package func failure(_ url: PageURL) -> TransportError? { state.withLock { $0[url]?.failure } }
}
