import Foundation
import Synchronization

/// Work that goes on behind an answer: one at a time for each name, and all of it can be waited for.
final class BackgroundWork: Sendable {
  enum Name: Hashable, Sendable {
    /// Asking again for what was answered from the cache.
    case refresh(FlightKey)
    /// Asking whether what was served stale is still valid.
    case revalidation(FlightKey)
    /// An answer that came too late for who had asked.
    case late(UUID)
  }

  private let tasks = Mutex<[Name: Task<Void, Never>]>([:])

  func run(_ name: Name, _ work: @escaping @Sendable () async throws -> Void) {
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
}
