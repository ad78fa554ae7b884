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
