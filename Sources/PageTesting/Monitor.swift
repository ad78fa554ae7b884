import NIOCore
import NIOPosix
import Synchronization

/// A value that several threads share, and a way to wait until it satisfies a condition.
///
/// Waiting needs no thread and no polling: each change checks the conditions of the waiters.
package final class Monitor<Value: Sendable>: Sendable {
  package typealias Condition = @Sendable (Value) -> Bool

  private typealias Waiter = (
    number: Int, condition: Condition, wake: @Sendable (Result<Void, any Error>) -> Void
  )

  private struct Guarded: Sendable {
    var value: Value
    var waiters: [Waiter] = []
    var nextNumber = 0

    mutating func takeNumber() -> Int {
      defer { nextNumber += 1 }
      return nextNumber
    }

    mutating func takeWaiters(where isTaken: (Waiter) -> Bool) -> [Waiter] {
      let taken = waiters.filter(isTaken)
      if !taken.isEmpty { waiters.removeAll(where: isTaken) }
      return taken
    }
  }

  private let guarded: Mutex<Guarded>

  package init(_ value: Value) {
    guarded = Mutex(Guarded(value: value))
  }

  package func read<Answer: Sendable>(_ body: (Value) -> Answer) -> Answer {
    guarded.withLock { body($0.value) }
  }

  /// Changes the value, then wakes the waiters whose conditions have become true, in the order of their arrival.
  package func change<Answer: Sendable>(_ body: (inout Value) -> Answer) -> Answer {
    let (answer, woken) = guarded.withLock { guarded in
      let answer = body(&guarded.value)
      let value = guarded.value
      return (answer, guarded.takeWaiters { $0.condition(value) })
    }
    for waiter in woken { waiter.wake(.success(())) }
    return answer
  }

  /// Calls `wake` once: when the condition is true, at once or at a later change, or with the error of
  /// ``giveUp(_:with:)``.
  ///
  /// - Returns: the number for ``giveUp(_:with:)``.
  package func whenTrue(
    _ condition: @escaping Condition, wake: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) -> Int {
    let number = guarded.withLock { $0.takeNumber() }
    enlist((number, condition, wake))
    return number
  }

  /// Wakes one waiter with an error; has no effect if it was woken already.
  package func giveUp(_ number: Int, with error: any Error) {
    let waiters = guarded.withLock { guarded in guarded.takeWaiters { $0.number == number } }
    for waiter in waiters { waiter.wake(.failure(error)) }
  }

  private func enlist(_ waiter: Waiter) {
    let isTrue = guarded.withLock { guarded in
      if waiter.condition(guarded.value) { return true }
      guarded.waiters.append(waiter)
      return false
    }
    if isTrue { waiter.wake(.success(())) }
  }
}

// MARK: - Waiting in a task

extension Monitor {
  /// Returns once the condition is true.
  ///
  /// - Parameters:
  ///   - limit: the longest wait; `nil` for no limit.
  ///   - failure: makes the error after the limit from the value at that time.
  /// - Throws: the error of `failure`, or `CancellationError`.
  package func wait(
    within limit: Duration?, until condition: @escaping Condition,
    failure: @escaping @Sendable (Value) -> any Error = { _ in CancellationError() }
  ) async throws {
    let number = guarded.withLock { $0.takeNumber() }
    var timer: Scheduled<Void>?
    defer { timer?.cancel() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        enlist((number, condition, { continuation.resume(with: $0) }))
        if Task.isCancelled { giveUp(number, with: CancellationError()) }
        if let limit {
          timer = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: TimeAmount(limit)) { [weak self] in
            guard let self else { return }
            giveUp(number, with: read(failure))
          }
        }
      }
    } onCancel: {
      giveUp(number, with: CancellationError())
    }
  }
}
