import Dispatch

/// Runs computing that takes longer than about a millisecond. All tasks of a process share a few threads; a queue has a
/// thread of its own besides and does one thing after the other, so that nobody can take all processors with it.
package struct BackgroundQueue: Sendable {
  private let queue: DispatchQueue

  package init(label: String) {
    // Concurrent queues share their threads with the tasks, serial ones do not.
    queue = DispatchQueue(label: label)
  }

  /// - Throws: what the work throws.
  package func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try work() }) }
    }
  }
}
