import DequeModule
import Synchronization

/// Sends elements to any number of listeners, each of which reads at its own pace.
///
/// Sending is inlinable, so that other modules' elements cost no look-ups of metadata.
package final class Broadcast<Element: Sendable>: Sendable {
  /// The elements that are kept for a listener that does not keep up.
  package enum Backlog: Sendable {
    /// The newest elements, at most this many; the oldest are dropped.
    case newest(Int)
    /// All elements.
    case all
    /// One element, into which each later one is merged.
    case merged(@Sendable (inout Element, Element) -> Void)

    @inlinable
    func add(_ element: Element, to elements: inout Deque<Element>) {
      switch self {
      case .all: elements.append(element)
      case .newest(let limit):
        if elements.count >= limit { elements.removeFirst() }
        elements.append(element)
      case .merged(let merge):
        if elements.isEmpty { elements.append(element) } else { merge(&elements[0], element) }
      }
    }
  }

  /// The elements that are not read yet; `wake` yields when one was added.
  @usableFromInline typealias Listener = (elements: Deque<Element>, wake: AsyncStream<Void>.Continuation)

  @usableFromInline
  struct State {
    /// The first elements, for later listeners.
    @usableFromInline var past: [Element] = []
    var hasEnded = false
    @usableFromInline var listeners: [Int: Listener] = [:]
    var lastID = 0

    mutating func add(_ wake: AsyncStream<Void>.Continuation, _ first: Element?, replays: Bool = true) -> Int {
      lastID += 1
      listeners[lastID] = (Deque((replays ? past : []) + (first.map { [$0] } ?? [])), wake)
      return lastID
    }
  }

  @usableFromInline let backlog: Backlog
  @usableFromInline let replayLimit: Int
  @usableFromInline let state = Mutex(State())

  /// - Parameters:
  ///   - backlog: the elements that are kept for a listener that does not keep up.
  ///   - replayLimit: the number of elements, from the first one on, that a later listener gets too.
  package init(_ backlog: Backlog = .newest(1_000), replayLimit: Int = 0) {
    (self.backlog, self.replayLimit) = (backlog, replayLimit)
  }

  /// Sends an element to all present listeners.
  @inlinable
  package func send(_ element: Element) {
    let wakes = state.withLock { state in
      if state.past.count < replayLimit { state.past.append(element) }
      var wakes: [AsyncStream<Void>.Continuation] = []
      // A loop over the values would hold a second reference to them, and each change would copy them.
      var index = state.listeners.values.startIndex
      while index != state.listeners.values.endIndex {
        // A listener that has elements to read was woken for them.
        if state.listeners.values[index].elements.isEmpty { wakes.append(state.listeners.values[index].wake) }
        backlog.add(element, to: &state.listeners.values[index].elements)
        state.listeners.values.formIndex(after: &index)
      }
      return wakes
    }
    for wake in wakes { wake.yield() }
  }

  /// Ends the streams of all listeners, after the elements that they have not read yet. Nothing may be sent afterwards.
  package func finish() {
    let wakes = state.withLock { state in
      state.hasEnded = true
      return state.listeners.values.map { $0.wake }
    }
    for wake in wakes { wake.yield() }
  }

  /// Listens to the replayed elements, and to those that are sent from now on. The listener goes when its stream does,
  /// or when the task that reads it is cancelled.
  ///
  /// - Parameters:
  ///   - first: an element that the listener gets before those that are sent from now on.
  ///   - replays: `false` to listen to these alone.
  package func listen(first: Element? = nil, replays: Bool = true) -> AsyncStream<Element> {
    let (wakes, wake) = Self.makeWakes()
    return elements(of: state.withLock { $0.add(wake, first, replays: replays) }, wakes, wake)
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
        let (element, hasEnded) = state.withLock { ($0.listeners[id]?.elements.popFirst(), $0.hasEnded) }
        if element != nil || hasEnded { return element }
        guard await wakes.next() != nil else { return nil }
      }
    }
  }
}
