import Synchronization

/// What happened to a page, for any number of listeners; one that comes late gets all of it.
final class PageFeed: Sendable {
  private struct State {
    var past: [PageEvent] = []
    var listeners: [Int: AsyncStream<PageEvent>.Continuation] = [:]
    var lastID = 0
    var hasEnded = false
  }

  /// Events kept for those who come late; render commands are the tree's to tell.
  private static let pastLimit = 10_000

  private let state = Mutex(State())

  func send(_ event: PageEvent) {
    state.withLock { state in
      if state.past.count < Self.pastLimit { state.past.append(event) }
      for listener in state.listeners.values { listener.yield(event) }
    }
  }

  func finish() {
    let listeners = state.withLock { state in
      state.hasEnded = true
      defer { state.listeners = [:] }
      return Array(state.listeners.values)
    }
    for listener in listeners { listener.finish() }
  }

  func listen() -> AsyncStream<PageEvent> {
    let (events, continuation) = AsyncStream.makeStream(of: PageEvent.self)
    let id: Int? = state.withLock { state in
      for event in state.past { continuation.yield(event) }
      guard !state.hasEnded else { return nil }
      state.lastID += 1
      state.listeners[state.lastID] = continuation
      return state.lastID
    }
    guard let id else {
      continuation.finish()
      return events
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.listeners.removeValue(forKey: id) }
    }
    return events
  }
}
