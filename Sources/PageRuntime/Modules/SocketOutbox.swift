import Synchronization

/// The commands of a page that its web socket has not taken yet.
final class SocketOutbox: Sendable {
  private struct State {
    var waiting: [(command: WebSocketCommand, bytes: Int)] = []
    var bytes = 0
    var taker: CheckedContinuation<WebSocketCommand?, Never>?
    var hasEnded = false
  }

  private let limit: Int
  private let state = Mutex(State())

  /// - Parameter limit: the number of bytes that may wait.
  init(limit: Int) { self.limit = limit }

  /// The commands, for one reader. A command waits here until the reader asks for it.
  var commands: AsyncStream<WebSocketCommand> {
    AsyncStream {
      await self.next()
    } onCancel: {
      self.finish()
    }
  }

  /// - Returns: `false` if more than the limit would wait.
  func add(_ command: WebSocketCommand, bytes: Int) -> Bool {
    let (isTaken, taker): (Bool, CheckedContinuation<WebSocketCommand?, Never>?) = state.withLock { state in
      if state.hasEnded { return (true, nil) }
      if let taker = state.taker {
        state.taker = nil
        return (true, taker)
      }
      guard state.bytes + bytes <= limit, state.waiting.count < 100_000 else { return (false, nil) }
      state.waiting.append((command, bytes))
      state.bytes += bytes
      return (true, nil)
    }
    taker?.resume(returning: command)
    return isTaken
  }

  /// Drops the waiting commands, and ends the stream.
  func finish() {
    let taker = state.withLock { state in
      state.hasEnded = true
      (state.waiting, state.bytes) = ([], 0)
      defer { state.taker = nil }
      return state.taker
    }
    taker?.resume(returning: nil)
  }

  private func next() async -> WebSocketCommand? {
    await withCheckedContinuation { continuation in
      let ready: WebSocketCommand?? = state.withLock { state in
        if state.hasEnded { return .some(nil) }
        guard !state.waiting.isEmpty else {
          state.taker = continuation
          return nil
        }
        let first = state.waiting.removeFirst()
        state.bytes -= first.bytes
        return .some(first.command)
      }
      if let ready { continuation.resume(returning: ready) }
    }
  }
}
