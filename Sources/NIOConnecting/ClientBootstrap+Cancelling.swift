import NIOCore
import NIOPosix
import Synchronization

extension ClientBootstrap {
  /// Connects, and prepares the connection. It is closed when the task is cancelled, and when anything fails. So are the
  /// connections to the host's other addresses, of which several may be tried at a time (RFC 8305).
  ///
  /// - Parameter prepare: called for each address that is tried, on the connection's event loop; what its future gives
  ///   is the result.
  /// - Throws: what connecting and preparing throw, `CancellationError`.
  package func connect<Result: Sendable>(
    host: String, port: Int,
    preparing prepare: @escaping @Sendable (any Channel) throws -> EventLoopFuture<Result>
  ) async throws -> Result {
    let attempts = Mutex<(channels: [any Channel], hasFailed: Bool)>(([], false))
    let fail: @Sendable () -> Void = {
      let channels = attempts.withLock { attempts in
        defer { attempts = ([], true) }
        return attempts.channels
      }
      for channel in channels { channel.close(promise: nil) }
    }
    do {
      return try await withTaskCancellationHandler {
        let prepared = try await connect(host: host, port: port) { channel in
          channel.eventLoop.makeCompletedFuture {
            // Another address may be tried after the end: the bootstrap closes a channel that is not made ready.
            try attempts.withLock { attempts in
              if attempts.hasFailed { throw CancellationError() }
              attempts.channels.append(channel)
            }
            return try prepare(channel)
          }
        }
        try Task.checkCancellation()
        return try await prepared.get()
      } onCancel: {
        fail()
      }
    } catch {
      fail()
      try Task.checkCancellation()
      throw error
    }
  }
}
