import Dispatch
import Synchronization

/// The event that a client disconnects, or resets a stream of HTTP/2: work for that client alone ends then.
package final class ClientDisconnection: Sendable {
  private struct State {
    var hasGone = false
    var next = 0
    var running: [Int: RunningTask] = [:]
    /// `true` while the tasks are being cancelled.
    var isCancelling = false
    /// The tasks whose bodies have ended meanwhile: they must not end before that.
    var ended: [CheckedContinuation<Void, Never>] = []
  }

  /// A task that runs a body.
  ///
  /// `@unchecked Sendable`: of a task that is not the current one only `cancel()` is used, which all threads may call,
  /// and only until ``leave(_:)`` returns, which the task waits for.
  private struct RunningTask: @unchecked Sendable {
    let task: UnsafeCurrentTask
  }

  private let state = Mutex(State())
  /// Cancels tasks: their handlers may take longer than an event loop may wait.
  private static let queue = DispatchQueue(label: "pagekit.server.disconnections")

  var hasHappened: Bool { state.withLock(\.hasGone) }

  /// Records that the client sends nothing more and waits for no answer. The tasks are cancelled a moment later.
  func happen() {
    let running = state.withLock { state in
      state.hasGone = true
      defer { state.running = [:] }
      if !state.running.isEmpty { state.isCancelling = true }
      return Array(state.running.values)
    }
    guard !running.isEmpty else { return }
    Self.queue.async { [self] in
      for running in running { running.task.cancel() }
      let ended = state.withLock { state in
        state.isCancelling = false
        defer { state.ended = [] }
        return state.ended
      }
      for task in ended { task.resume() }
    }
  }

  /// Runs a body, and cancels the task that it runs in when the client disconnects: that serves this client alone.
  ///
  /// - Throws: `CancellationError` after the disconnection, and the errors of the body.
  package func cancelling<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
    try await withUnsafeCurrentTask { task in
      let number: Int = try state.withLock { state in
        if state.hasGone { throw CancellationError() }
        state.next += 1
        state.running[state.next] = task.map(RunningTask.init)
        return state.next
      }
      let result: Result<Value, any Error>
      do { result = .success(try await body()) } catch { result = .failure(error) }
      await leave(number)
      return try result.get()
    }
  }

  /// Ends the use of a task. If it is being cancelled, this returns afterwards.
  private func leave(_ number: Int) async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        state.running[number] = nil
        if state.isCancelling { state.ended.append(continuation) }
        return !state.isCancelling
      }
      if isFree { continuation.resume() }
    }
  }
}
