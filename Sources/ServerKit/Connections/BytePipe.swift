import DequeModule
import NIOCore
import Synchronization

/// A bounded buffer between a channel and one reader. A full buffer pauses the channel.
package final class BytePipe: Sendable {
  /// The limit of buffered bytes; one read may exceed it.
  package static let limit = 64 << 10

  private struct State {
    var chunks: Deque<ByteBuffer> = []
    var count = 0
    var end: Result<Void, any Error>?
    var waiter: CheckedContinuation<ByteBuffer?, any Error>?
    /// Continues reading when there is room.
    var reader: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  package init() {}

  // MARK: The channel's side

  package func receive(_ bytes: ByteBuffer) {
    guard bytes.readableBytes > 0 else { return }
    let waiter = state.withLock { state -> CheckedContinuation<ByteBuffer?, any Error>? in
      guard state.end == nil else { return nil }
      if let waiter = state.waiter {
        state.waiter = nil
        return waiter
      }
      state.chunks.append(bytes)
      state.count += bytes.readableBytes
      return nil
    }
    waiter?.resume(returning: bytes)
  }

  /// Ends the input; buffered bytes can still be read.
  package func finish(_ end: Result<Void, any Error> = .success(())) {
    let waiter = state.withLock { state in
      if state.end == nil { state.end = end }
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume(with: end.map { nil })
  }

  /// Returns `true` if the channel may be read now; otherwise `then` is called once when it may.
  package func hasRoom(then: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      if state.count < Self.limit { return true }
      state.reader = then
      return false
    }
  }

  // MARK: The task's side

  /// Returns the next bytes; `nil` at the end.
  ///
  /// - Throws: the error of the channel, `CancellationError`.
  package func next() async throws -> ByteBuffer? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let (known, reader) = state.withLock { state -> (Result<ByteBuffer?, any Error>?, (@Sendable () -> Void)?) in
          if let chunk = state.chunks.popFirst() {
            state.count -= chunk.readableBytes
            guard state.count < Self.limit else { return (.success(chunk), nil) }
            defer { state.reader = nil }
            return (.success(chunk), state.reader)
          }
          if let end = state.end { return (end.map { nil }, nil) }
          if Task.isCancelled { return (.failure(CancellationError()), nil) }
          state.waiter = continuation
          return (nil, nil)
        }
        reader?()
        if let known { continuation.resume(with: known) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        defer { state.waiter = nil }
        return state.waiter
      }
      waiter?.resume(throwing: CancellationError())
    }
  }
}
