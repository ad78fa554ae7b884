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
    let (elements, continuation) = makeStream()
    register(continuation, maximum: .max)
    return elements
  }

  /// Like ``listen()``, with a limit to the number of listeners.
  ///
  /// - Returns: the stream; `nil` if there are `maximum` listeners already.
  package func listen(maximum: Int) -> AsyncStream<Element>? {
    let (elements, continuation) = makeStream()
    return register(continuation, maximum: maximum) ? elements : nil
  }

  /// The number of listeners.
  package var listenerCount: Int { state.withLock(\.listeners.count) }

  private func makeStream() -> (AsyncStream<Element>, AsyncStream<Element>.Continuation) {
    AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(limit))
  }

  @discardableResult
  private func register(_ continuation: AsyncStream<Element>.Continuation, maximum: Int) -> Bool {
    let id = state.withLock { state -> Int? in
      guard state.listeners.count < maximum else { return nil }
      state.lastID += 1
      state.listeners[state.lastID] = continuation
      return state.lastID
    }
    guard let id else { return false }
    continuation.onTermination = { [weak self] _ in self?.state.withLock { _ = $0.listeners.removeValue(forKey: id) } }
    return true
  }
}
