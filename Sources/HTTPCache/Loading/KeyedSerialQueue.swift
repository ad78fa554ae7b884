import HTTPTransport
import Synchronization

/// Lets work for one key happen one after the other, in the order in which it was asked for; work for other keys beside
/// it. It is not cancelled with who asked for it.
final class KeyedSerialQueue: Sendable {
  private struct Line {
    var last: Task<Void, Never>
    var length: Int
  }

  private let lines = Mutex<[CacheKey: Line]>([:])

  func run<Value: Sendable>(_ key: CacheKey, _ work: @escaping @Sendable () async -> Value) async -> Value {
    let task = lines.withLock { lines in
      let before = lines[key]
      let task = Task {
        await before?.last.value
        return await work()
      }
      lines[key] = Line(last: Task { _ = await task.value }, length: (before?.length ?? 0) + 1)
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

  /// Returns when what was asked for until now has ended, of keys that are meant.
  func finish(where isMeant: (CacheKey) -> Bool) async {
    for task in lines.withLock({ lines in lines.filter { isMeant($0.key) }.map(\.value.last) }) { await task.value }
  }

  /// Keys with work that has not ended.
  var count: Int { lines.withLock(\.count) }
}
