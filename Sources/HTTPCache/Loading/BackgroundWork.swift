import Foundation
import HTTPTransport
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

  private let names = Mutex<[Name: Task<Void, any Error>]>([:])
  private let tasks: RunningTasks

  init(_ tasks: RunningTasks) { self.tasks = tasks }

  func run(_ name: Name, _ work: @escaping @Sendable () async throws -> Void) {
    names.withLock { names in
      guard names[name] == nil else { return }
      names[name] = tasks.start {
        try? await work()
        self.names.withLock { $0[name] = nil }
      }
    }
  }

  func finish() async {
    while let task = names.withLock({ $0.values.first }) { _ = await task.result }
  }
}
