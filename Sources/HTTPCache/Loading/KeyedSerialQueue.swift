import HTTPTransport
import Synchronization

/// Runs the work for one key one after the other, in order, and work for different keys concurrently. Cancelling the
/// caller does not cancel the work.
final class KeyedSerialQueue: Sendable {
  private struct Line {
    /// Returns when all work so far has ended.
    var end: @Sendable () async -> Void
    var length: Int
  }

  private let lines = Mutex<[CacheKey: Line]>([:])

  func run<Value: Sendable>(_ key: CacheKey, _ work: @escaping @Sendable () async -> Value) async -> Value {
    let task = lines.withLock { lines in
      let before = lines[key]
      let task = Task {
        await before?.end()
        return await work()
      }
      lines[key] = Line(end: { _ = await task.value }, length: (before?.length ?? 0) + 1)
      return task
    }
    let value = await task.value
    lines.withLock { lines in
      guard var line = lines[key] else { return }
      line.length -= 1
      lines[key] = line.length > 0 ? line : nil
    }
    return value
  }

  /// Returns when the work that was added so far for matching keys has ended.
  func finish(where isMeant: (CacheKey) -> Bool) async {
    for end in lines.withLock({ lines in lines.filter { isMeant($0.key) }.map(\.value.end) }) { await end() }
  }

  /// Keys with work that has not ended.
  var count: Int { lines.withLock(\.count) }
}
