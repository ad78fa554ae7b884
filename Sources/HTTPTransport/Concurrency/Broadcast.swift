import DequeModule
import Synchronization

/// Sends elements to any number of listeners, each of which reads at its own pace.
package final class Broadcast<Element: Sendable>: Sendable {
  /// The elements that are kept for a listener that does not keep up.
  package enum Backlog: Sendable {
    /// The newest elements, at most this many; the oldest are dropped.
    case newest(Int)
    /// All elements.
    case all
    /// One element, into which each later one is merged.
    case merged(@Sendable (inout Element, Element) -> Void)
  }

  private struct Listener {
    var elements: Deque<Element>
    /// Yields when an element was added.
    let wake: AsyncStream<Void>.Continuation
  }

  private struct State {
    /// The first elements, for later listeners.
    var past: [Element] = []
    var hasEnded = false
    var listeners: [Int: Listener] = [:]
    var lastID = 0

    mutating func add(_ wake: AsyncStream<Void>.Continuation, _ first: Element?) -> Int {
      lastID += 1
      listeners[lastID] = Listener(elements: first.map { [$0] } ?? [], wake: wake)
      return lastID
    }
  }

  private let backlog: Backlog
  private let replayLimit: Int
  private let state = Mutex(State())

  /// - Parameter replayLimit: the number of elements, from the first one on, that a later listener gets too.
  package init(_ backlog: Backlog = .newest(1_000), replayLimit: Int = 0) {
    (self.backlog, self.replayLimit) = (backlog, replayLimit)
  }

  /// Sends an element to all present listeners.
  package func send(_ element: Element) {
    let wakes = state.withLock { state in
      if state.past.count < replayLimit { state.past.append(element) }
      for id in state.listeners.keys { state.listeners[id]?.elements.add(element, within: backlog) }
      return state.listeners.values.map(\.wake)
    }
    for wake in wakes { wake.yield() }
  }

  /// Listens to the elements that are sent from now on. The listener goes when its stream does, or when the task that
  /// reads it is cancelled.
  ///
  /// - Parameter first: an element that the listener gets before those that are sent from now on.
  package func listen(first: Element? = nil) -> AsyncStream<Element> {
    let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state in
      state.lastID += 1
      state.listeners[state.lastID] = Listener(elements: Deque(state.past + (first.map { [$0] } ?? [])), wake: wake)
      return state.lastID
    }
    wake.onTermination = { [weak self] _ in self?.state.withLock { _ = $0.listeners.removeValue(forKey: id) } }
    return AsyncStream { [self] in
      var wakes = wakes.makeAsyncIterator()
      while true {
        let (element, hasEnded) = state.withLock { ($0.listeners[id]?.elements.popFirst(), $0.hasEnded) }
        if element != nil || hasEnded { return element }
        guard await wakes.next() != nil else { return nil }
      }
    }
  }
}

extension Deque where Element: Sendable {
  fileprivate mutating func add(_ element: Element, within backlog: Broadcast<Element>.Backlog) {
    switch backlog {
    case .all: append(element)
    case .newest(let limit):
      if count >= limit { removeFirst() }
      append(element)
    case .merged(let merge):
      if isEmpty { append(element) } else { merge(&self[0], element) }
    }
  }
}
