import Synchronization

/// Tells any number of listeners what happens from now on; a listener that does not keep up loses the oldest.
package final class Broadcast<Element: Sendable>: Sendable {
  private struct State {
    var listeners: [Int: AsyncStream<Element>.Continuation] = [:]
    var lastID = 0
  }

  private let limit: Int
  private let state = Mutex(State())

  /// - Parameter limit: elements kept for each listener.
  package init(limit: Int = 1_000) { self.limit = limit }

  package func send(_ element: Element) {
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(element) }
  }

  /// Everything that is sent from now on, until the listener stops reading.
  package func listen() -> AsyncStream<Element> {
    let (elements, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(limit))
    let id = state.withLock { state in
      state.lastID += 1
      state.listeners[state.lastID] = continuation
      return state.lastID
    }
    continuation.onTermination = { [weak self] _ in self?.state.withLock { _ = $0.listeners.removeValue(forKey: id) } }
    return elements
  }
}
