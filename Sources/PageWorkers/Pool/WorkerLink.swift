import NIOCore
import NIOPosix
import PageKit
import Synchronization

/// The daemon's side of a worker's socket.
package final class WorkerLink: Sendable {
  typealias Channel = NIOAsyncChannel<ByteBuffer, ByteBuffer>
  package typealias Reply = (PageReply, [UInt8])

  private struct Call {
    let page: UInt64
    let due: ContinuousClock.Instant
    let continuation: CheckedContinuation<Reply, any Error>
  }

  private struct State {
    var calls: [UInt64: Call] = [:]
    var lastCall: UInt64 = 0
    var writer: NIOAsyncChannelOutboundWriter<ByteBuffer>?
    /// The reason why it ended or is ending, and the pages to blame.
    var end: (reason: KillReason, culprits: Set<UInt64>)?
  }

  private let channel: Channel
  private let state = Mutex(State())

  /// Takes ownership of the socket.
  init(socket: Int32) async throws {
    channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .withConnectedSocket(socket) { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(FrameDecoder()))
          // A frame may have 64 MiB.
          return try Channel(
            wrappingChannelSynchronously: channel,
            configuration: .init(backPressureStrategy: .init(lowWatermark: 1, highWatermark: 2)))
        }
      }
  }

  /// Reads until the worker has ended; an invalid message ends it.
  ///
  /// - Returns: the reason of its end, if its messages contain it.
  func run(
    ready: @escaping @Sendable () async throws -> Void,
    receive: @escaping @Sendable (WorkerMessage, [UInt8]) async -> Void
  ) async -> KillReason? {
    do {
      try await channel.executeThenClose { inbound, outbound in
        state.withLock { $0.writer = outbound }
        try await ready()
        for try await frame in inbound {
          let (message, payload) = try await Frame.decodeInBackground(WorkerMessage.self, frame)
          switch message {
          case .done(let call, let reply): finish(call, .success((reply, payload)))
          case .failed(let call, let fault): finish(call, .failure(fault))
          default: await receive(message, payload)
          }
        }
      }
      return nil
    } catch let error as FrameError {
      return .malformed("\(error)")
    } catch let error where error is JSONError || error is DecodingError {
      return .malformed(error.jsonReason)
    } catch {
      return nil
    }
  }

  func close() { channel.channel.close(promise: nil) }

  func send(_ message: HostMessage, _ payload: [UInt8] = []) async throws {
    guard let writer = state.withLock(\.writer) else { throw WorkerError.noWorker }
    let encoded: @Sendable () throws -> ByteBuffer = { try Frame.encode(message, payload) }
    try await writer.write(try await message.data?.encoding(encoded) ?? encoded())
  }

  /// Sends a message without waiting, unless the worker does not read.
  func post(_ message: HostMessage, _ payload: [UInt8] = []) {
    guard channel.channel.isWritable, let frame = try? Frame.encode(message, payload) else { return }
    channel.channel.writeAndFlush(frame, promise: nil)
  }

  /// Sends a call for a page, and waits for the answer.
  ///
  /// - Parameter limit: the time after which a worker without an answer counts as lost.
  /// - Throws: ``PageFault``, ``WorkerError``.
  func call(
    _ page: UInt64, within limit: Duration, _ payload: [UInt8] = [],
    _ message: @escaping @Sendable (UInt64) -> HostMessage
  ) async throws -> Reply {
    let id = state.withLock { state in
      state.lastCall += 1
      return state.lastCall
    }
    return try await withCheckedThrowingContinuation { continuation in
      let failure: WorkerError? = state.withLock { state in
        if let end = state.end { return .ended(end.reason, isCulprit: end.culprits.contains(page)) }
        state.calls[id] = Call(page: page, due: .now + limit, continuation: continuation)
        return nil
      }
      if let failure { return continuation.resume(throwing: failure) }
      // Unstructured, since the cancellation of a caller does not cancel the worker's call.
      Task {
        do { try await send(message(id), payload) } catch { finish(id, .failure(WorkerError.noWorker)) }
      }
    }
  }

  /// The seconds since the first overdue call was due; negative if none is.
  func overdue(at now: ContinuousClock.Instant) -> Double? {
    state.withLock { $0.calls.values.map(\.due).min() }.map { (now - $0).seconds }
  }

  /// The first reason applies.
  ///
  /// - Returns: `true` if this is the first reason.
  func noteEnd(_ reason: KillReason, culprits: Set<UInt64>) -> Bool {
    state.withLock { state in
      guard state.end == nil else { return false }
      state.end = (reason, culprits)
      return true
    }
  }

  var end: (reason: KillReason, culprits: Set<UInt64>)? { state.withLock(\.end) }

  /// Resumes all waiting callers.
  func failCalls() {
    let (calls, end) = state.withLock { state in
      defer { (state.calls, state.writer) = ([:], nil) }
      return (state.calls, state.end)
    }
    for call in calls.values {
      let reason = end?.reason ?? .ended("")
      call.continuation.resume(
        throwing: WorkerError.ended(reason, isCulprit: end?.culprits.contains(call.page) ?? false))
    }
  }

  private func finish(_ call: UInt64, _ result: Result<Reply, any Error>) {
    state.withLock { $0.calls.removeValue(forKey: call) }?.continuation.resume(with: result)
  }
}
