import Dispatch
import HTTPTransport

/// The threads on which a store of responses blocks, in SQLite, in files and for the locks of other processes, so that
/// those that all tasks share go on.
struct StoreQueues: Sendable {
  private let writes = DispatchQueue(label: "pagekit.responses.writes")
  /// Serial ones, since a concurrent one shares its threads with the tasks. Two, so that a long read of one key holds up
  /// half of the others at most.
  private let reads = [
    DispatchQueue(label: "pagekit.responses.reads.0"), DispatchQueue(label: "pagekit.responses.reads.1"),
  ]

  /// Runs work that changes the store or reads all of it; one after the other.
  func write<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await writes.result(body)
  }

  /// Runs work of the same kind that nobody waits for.
  func later(_ body: @escaping @Sendable () -> Void) { writes.async(execute: body) }

  /// Runs work that reads an entry of a key.
  func read<Value: Sendable>(
    _ key: CacheKey, _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await reads[abs(key.hashValue % reads.count)].result(body)
  }
}
