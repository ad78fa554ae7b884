import Dispatch

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
