import Dispatch

extension DispatchQueue {
  /// Runs what blocks, or computes for longer than about a millisecond, on this queue, so that the threads that all
  /// tasks share go on meanwhile. The queue is to be a serial one: concurrent ones share their threads with the tasks.
  ///
  /// - Throws: what the body throws.
  package func result<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      async { continuation.resume(with: Result { try body() }) }
    }
  }
}
