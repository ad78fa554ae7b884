import DequeModule
import Synchronization

/// Sends elements to any number of listeners, each of which reads at its own pace.
package final class Broadcast<Element: Sendable>: Sendable {
  /// The elements that are kept for a listener that does not keep up.
  package enum Backlog: Sendable {
    /// The newest elements, at most this many; the oldest are dropped.
    case newest(Int)
    /// One element, into which each later one is merged.
    case merged(@Sendable (inout Element, Element) -> Void)
  }

  private struct Listener {
    var elements: Deque<Element>
    /// Yields when an element was added.
    let wake: AsyncStream<Void>.Continuation
  }

  private struct State {
    var listeners: [Int: Listener] = [:]
    var lastID = 0

    mutating func add(_ wake: AsyncStream<Void>.Continuation, _ first: Element?) -> Int {
      lastID += 1
      listeners[lastID] = Listener(elements: first.map { [$0] } ?? [], wake: wake)
      return lastID
    }
  }

  private let backlog: Backlog
  private let state = Mutex(State())

  package init(_ backlog: Backlog = .newest(1_000)) { self.backlog = backlog }

  /// Sends an element to all present listeners.
  package func send(_ element: Element) {
    let wakes = state.withLock { state in
      for id in state.listeners.keys { state.listeners[id]?.elements.add(element, within: backlog) }
      return state.listeners.values.map(\.wake)
    }
    for wake in wakes { wake.yield() }
  }

  /// Listens to the elements that are sent from now on. The listener goes when its stream does, or when the task that
  /// reads it is cancelled.
  ///
  /// - Parameter first: an element that the listener gets before the others.
  package func listen(first: Element? = nil) -> AsyncStream<Element> {
    let (wakes, wake) = Self.makeWakes()
    return elements(of: state.withLock { $0.add(wake, first) }, wakes, wake)
  }

  /// Like ``listen(first:)``, with a limit to the number of listeners.
  ///
  /// - Returns: the stream; `nil` if there are `maximum` listeners already.
  package func listen(maximum: Int) -> AsyncStream<Element>? {
    let (wakes, wake) = Self.makeWakes()
    let id = state.withLock { $0.listeners.count < maximum ? $0.add(wake, nil) : nil }
    return id.map { elements(of: $0, wakes, wake) }
  }

  /// The number of listeners.
  package var listenerCount: Int { state.withLock(\.listeners.count) }

  private static func makeWakes() -> (AsyncStream<Void>, AsyncStream<Void>.Continuation) {
    AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  }

  private func elements(
    of id: Int, _ wakes: AsyncStream<Void>, _ wake: AsyncStream<Void>.Continuation
  ) -> AsyncStream<Element> {
    wake.onTermination = { [weak self] _ in self?.state.withLock { _ = $0.listeners.removeValue(forKey: id) } }
    return AsyncStream { [self] in
      var wakes = wakes.makeAsyncIterator()
      while true {
        if let element = state.withLock({ $0.listeners[id]?.elements.popFirst() }) { return element }
        guard await wakes.next() != nil else { return nil }
      }
    }
  }
}

extension Deque where Element: Sendable {
  fileprivate mutating func add(_ element: Element, within backlog: Broadcast<Element>.Backlog) {
    switch backlog {
    case .newest(let limit):
      if count >= limit { removeFirst() }
      append(element)
    case .merged(let merge):
      if isEmpty { append(element) } else { merge(&self[0], element) }
    }
  }
}
