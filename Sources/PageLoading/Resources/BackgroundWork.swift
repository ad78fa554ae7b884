import Synchronization

/// Work that goes on behind an answer: one at a time for each name, and all of it can be waited for.
final class BackgroundWork: Sendable {
  private let tasks = Mutex<[String: Task<Void, Never>]>([:])

  func run(_ name: String, _ work: @escaping @Sendable () async throws -> Void) {
    tasks.withLock { tasks in
      guard tasks[name] == nil else { return }
      tasks[name] = Task {
        try? await work()
        self.tasks.withLock { $0[name] = nil }
      }
    }
  }

  func finish() async {
    while let task = tasks.withLock({ $0.values.first }) { await task.value }
  }

  deinit { for task in tasks.withLock({ Array($0.values) }) { task.cancel() } }
}
