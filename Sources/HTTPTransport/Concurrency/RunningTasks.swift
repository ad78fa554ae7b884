import Synchronization

/// Tasks that outlive their callers. Their owner can cancel them all and wait for their ends.
package final class RunningTasks: Sendable {
  /// The running tasks, the number of all that were started, and whether the owner has cancelled them.
  private typealias State = (
    tasks: [Int: (cancel: @Sendable () -> Void, end: @Sendable () async -> Void)], count: Int, isShutDown: Bool
  )

  private let state = Mutex<State>(([:], 0, false))

  package init() {}

  /// Starts a task; after ``shutDown()`` it is cancelled at once.
  @discardableResult
  package func start<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) -> Task<Value, any Error> {
    state.withLock { state in
      state.count += 1
      let id = state.count
      let task = Task {
        defer { remove(id) }
        return try await work()
      }
      if state.isShutDown { task.cancel() }
      state.tasks[id] = (cancel: { task.cancel() }, end: { _ = await task.result })
      return task
    }
  }

  private func remove(_ id: Int) { state.withLock { _ = $0.tasks.removeValue(forKey: id) } }

  /// `true` if all tasks were cancelled.
  package var isShutDown: Bool { state.withLock { $0.isShutDown } }

  /// Cancels all tasks; later ones are cancelled at once.
  package func cancel() {
    let running = state.withLock { state in
      state.isShutDown = true
      return Array(state.tasks.values)
    }
    for task in running { task.cancel() }
  }

  /// Cancels all tasks, and returns when the last of them has ended.
  package func shutDown() async {
    cancel()
    await finish()
  }

  /// Returns when the last task has ended.
  package func finish() async {
    while let task = state.withLock({ $0.tasks.values.first }) { await task.end() }
  }
}
