import Dispatch
import Synchronization

/// The tasks, and the functions of event loops, that wait for changes of a state: a condition variable. It is a part of
/// the state, behind the lock that guards it.
///
///     struct State { var count = 0; var waiting = WaitList() }
///     let state = Mutex(State())
///
///     await state.wait(in: \.waiting) { $0.count > 0 }
///
///     state.withLock { state in
///       state.count += 1
///       return state.waiting.removeAll()
///     }.resume()
///
/// It is inlinable, so that other modules' states cost no look-ups of metadata.
@usableFromInline
package struct WaitList: Sendable {
  /// A waiting task, or a function that is called in its place.
  @usableFromInline
  package enum Waiter: Sendable {
    case task(CheckedContinuation<Void, Never>)
    case call(@Sendable () -> Void)
  }

  @usableFromInline var waiting: [UInt64: Waiter] = [:]
  @usableFromInline var next: UInt64 = 0

  @inlinable
  package init() {}

  @inlinable
  mutating func number() -> UInt64 {
    defer { next += 1 }
    return next
  }

  /// Adds a function that is called once, when it or all that wait are removed: it then looks at the state again.
  ///
  /// - Returns: the number by which it is removed.
  @inlinable
  package mutating func add(_ call: @escaping @Sendable () -> Void) -> UInt64 {
    let number = number()
    waiting[number] = .call(call)
    return number
  }

  /// Removes one that may still wait.
  ///
  /// - Returns: it; `nil` if it was removed before.
  @inlinable
  package mutating func remove(_ number: UInt64) -> Waiter? { waiting.removeValue(forKey: number) }

  /// Removes all that wait; they then look at the state again.
  @inlinable
  package mutating func removeAll() -> [Waiter] {
    if waiting.isEmpty { return [] }
    defer { waiting = [:] }
    return Array(waiting.values)
  }
}

extension WaitList.Waiter {
  /// Resumes it, once it was removed; to be called without the lock.
  @inlinable
  package func resume() {
    switch self {
    case .task(let continuation): continuation.resume()
    case .call(let function): function()
    }
  }
}

extension [WaitList.Waiter] {
  /// Resumes what does not wait any more; to be called without the lock.
  @inlinable
  package func resume() {
    for waiter in self { waiter.resume() }
  }
}

extension Mutex {
  /// Waits in a list of the state until the list's tasks are removed from it, or this task is cancelled; not at all if
  /// the state is as wanted. The caller then looks at the state again.
  ///
  /// - Parameter isDue: called once, with the lock, before the task waits: no change after it is missed.
  @inlinable
  package borrowing func wait(
    in list: any WritableKeyPath<Value, WaitList> & Sendable, unless isDue: (inout Value) -> Bool
  ) async {
    let number = withLock { $0[keyPath: list].number() }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = withLock { state in
          // The handler below ran in vain if the task was cancelled before this point.
          if isDue(&state) || Task.isCancelled { return true }
          state[keyPath: list].waiting[number] = .task(continuation)
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      withLock { $0[keyPath: list].remove(number) }?.resume()
    }
  }
}

/// Counts events, and wakes the tasks that wait for the next one.
package final class Signal: Sendable {
  private struct State {
    var count: UInt64 = 0
    var waiting = WaitList()
  }

  private let state = Mutex(State())

  package init() {}

  /// The number of times it was sent.
  package var count: UInt64 { state.withLock(\.count) }

  package func send() {
    state.withLock { state in
      state.count += 1
      return state.waiting.removeAll()
    }.resume()
  }

  /// Returns when ``count`` exceeds `seen`, or when the task is cancelled.
  package func wait(beyond seen: UInt64) async {
    await state.wait(in: \.waiting) { $0.count > seen }
  }
}

// MARK: Waiting for work

extension Task where Failure == any Error {
  /// Returns the task's value, or throws `CancellationError` as soon as the waiting task is cancelled. This task itself
  /// continues.
  package func valueForWaiter() async throws -> Success {
    // A task's own `value` ignores the cancellation of the waiting task; a stream does not.
    let (results, continuation) = AsyncStream.makeStream(of: Result<Success, any Error>.self)
    let relay = Task<Void, Never> { continuation.yield(await self.result) }
    defer { relay.cancel() }
    for await result in results { return try result.get() }
    throw Swift.CancellationError()
  }
}

/// Returns the work's value, `nil` if it takes longer than `patience`.
///
/// The work is cancelled then, and must end.
package func within<Value: Sendable>(
  _ patience: Duration, _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value? {
  try await first(work, orAfter: { try await Task.sleep(for: patience) })
}

/// Returns the work's value, `nil` if it has not ended by a time of the clock. The work is cancelled then, and must
/// end.
package func within<Value: Sendable>(
  until deadline: Duration, on time: TimeSource, _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value? {
  try await first(work, orAfter: { try await time.sleepUntil(deadline) })
}

/// Returns the work's value, `nil` if a signal is sent before it has ended. The work is cancelled then, and must end.
///
/// - Parameter seen: the number of times that it was sent before.
package func until<Value: Sendable>(
  _ signal: Signal, beyond seen: UInt64, _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value? {
  try await first(work, orAfter: { await signal.wait(beyond: seen) })
}

private func first<Value: Sendable>(
  _ work: @escaping @Sendable () async throws -> Value, orAfter alarm: @escaping @Sendable () async throws -> Void
) async throws -> Value? {
  try await withThrowingTaskGroup(of: Value?.self) { group in
    group.addTask { try await work() }
    group.addTask {
      try await alarm()
      return nil
    }
    defer { group.cancelAll() }
    return try await group.next() ?? nil
  }
}

extension DispatchQueue {
  /// Runs work that blocks, or computes for longer than about a millisecond, on this queue, so that the threads shared
  /// by all tasks stay free. The queue must be serial: concurrent queues share their threads with the tasks.
  ///
  /// - Throws: the error that the body throws.
  package func result<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      async { continuation.resume(with: Result { try body() }) }
    }
  }
}

/// A monotonic clock with functions to wait on it, so that deadlines can be tested with a manual clock.
package struct TimeSource: Sendable {
  /// Returns the time since an arbitrary beginning.
  package let now: @Sendable () -> Duration
  /// Sleeps until a time of ``now``.
  ///
  /// - Throws: `CancellationError`.
  package let sleepUntil: @Sendable (Duration) async throws -> Void
  /// Sleeps for a duration.
  ///
  /// - Throws: `CancellationError`.
  package let sleep: @Sendable (Duration) async throws -> Void

  package init<Time: Clock>(_ clock: Time) where Time.Duration == Duration {
    let beginning = clock.now
    now = { beginning.duration(to: clock.now) }
    sleepUntil = { try await clock.sleep(until: beginning.advanced(by: $0), tolerance: nil) }
    sleep = { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }
  }

  package static let system = TimeSource(ContinuousClock())
}
