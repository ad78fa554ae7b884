import Synchronization

/// Counts events, and wakes the tasks that wait for the next one.
package final class Signal: Sendable {
  private struct State {
    var count: UInt64 = 0
    var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var nextWaiter: UInt64 = 0
  }

  private let state = Mutex(State())

  package init() {}

  /// The number of times it was sent.
  package var count: UInt64 { state.withLock(\.count) }

  package func send() {
    let waiters = state.withLock { state in
      state.count += 1
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Returns when ``count`` exceeds `seen`, or when the task is cancelled.
  package func wait(beyond seen: UInt64) async {
    let number = state.withLock { state in
      defer { state.nextWaiter += 1 }
      return state.nextWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDue = state.withLock { state in
          // The handler below ran in vain if the task was cancelled before this point.
          guard state.count <= seen, !Task.isCancelled else { return true }
          state.waiters[number] = continuation
          return false
        }
        if isDue { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
    }
  }
}
