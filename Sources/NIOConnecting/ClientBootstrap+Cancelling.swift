import NIOCore
import NIOPosix
import Synchronization

extension ClientBootstrap {
  /// Connects, and prepares the connection. It is closed when the task is cancelled, and when anything fails.
  ///
  /// - Parameter prepare: called on the connection's event loop; what its future gives is the result.
  /// - Throws: what connecting and preparing throw, `CancellationError`.
  package func connect<Result: Sendable>(
    host: String, port: Int,
    preparing prepare: @escaping @Sendable (any Channel) throws -> EventLoopFuture<Result>
  ) async throws -> Result {
    let pending = Mutex<(any Channel)?>(nil)
    do {
      return try await withTaskCancellationHandler {
        let prepared = try await connect(host: host, port: port) { channel in
          pending.withLock { $0 = channel }
          return channel.eventLoop.makeCompletedFuture { try prepare(channel) }
        }
        try Task.checkCancellation()
        return try await prepared.get()
      } onCancel: {
        pending.withLock(\.self)?.close(promise: nil)
      }
    } catch {
      pending.withLock(\.self)?.close(promise: nil)
      try Task.checkCancellation()
      throw error
    }
  }
}
