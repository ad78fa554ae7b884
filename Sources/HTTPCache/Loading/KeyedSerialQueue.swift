import DequeModule
import HTTPTransport
import Synchronization

/// Runs the work for one key one after the other, in order, and work for different keys concurrently. Cancelling the
/// caller does not cancel the work.
final class KeyedSerialQueue: Sendable {
  private typealias Turn = CheckedContinuation<Void, Never>

  /// Those that wait behind the work that runs.
  private let lines = Mutex<[CacheKey: Deque<Turn>]>([:])

  func run<Value: Sendable>(_ key: CacheKey, _ work: @escaping @Sendable () async -> Value) async -> Value {
    await enter(key)
    defer { leave(key) }
    // A task of its own is not cancelled with its caller.
    return await Task.immediate { await work() }.value
  }

  /// Returns when all work that was added before for the key has ended.
  private func enter(_ key: CacheKey) async {
    await withCheckedContinuation { turn in
      let isFree = lines.withLock { lines in
        if lines[key]?.append(turn) != nil { return false }
        lines[key] = []
        return true
      }
      if isFree { turn.resume() }
    }
  }

  private func leave(_ key: CacheKey) {
    let next: Turn? = lines.withLock { lines in
      if let next = lines[key]?.popFirst() { return next }
      lines[key] = nil
      return nil
    }
    next?.resume()
  }

  /// Returns when the work that was added so far for matching keys has ended.
  func finish(where isMeant: (CacheKey) -> Bool) async {
    for key in lines.withLock({ $0.keys.filter(isMeant) }) {
      await enter(key)
      leave(key)
    }
  }

  /// Keys with work that has not ended.
  var count: Int { lines.withLock(\.count) }
}
