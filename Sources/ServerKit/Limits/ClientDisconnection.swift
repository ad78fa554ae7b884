import NIOCore
import Synchronization

/// The event that a client disconnects, or resets a stream of HTTP/2: work for that client alone ends then.
package final class ClientDisconnection: Sendable {
  private struct State {
    var hasGone = false
    var next = 0
    var waiting: [Int: @Sendable () -> Void] = [:]
  }

  private let state = Mutex(State())

  var hasHappened: Bool { state.withLock(\.hasGone) }

  /// Records that the client sends nothing more and waits for no answer.
  func happen() {
    let waiting = state.withLock { state in
      state.hasGone = true
      defer { state.waiting = [:] }
      return state.waiting.values
    }
    for cancel in waiting { cancel() }
  }

  /// Runs a body until the client disconnects.
  ///
  /// - Throws: `CancellationError` after the disconnection, and the errors of the body.
  package func cancelling<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    guard !hasHappened else { throw CancellationError() }
    // It begins at once, without a change of thread.
    let task = Task.immediate { try await body() }
    let number: Int? = state.withLock { state in
      guard !state.hasGone else { return nil }
      state.next += 1
      state.waiting[state.next] = { task.cancel() }
      return state.next
    }
    guard let number else {
      task.cancel()
      throw CancellationError()
    }
    defer { state.withLock { _ = $0.waiting.removeValue(forKey: number) } }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }
}

/// Detects that a client closes its side, as most do when they no longer want the answer, or resets its stream.
final class ClientDisconnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny

  let disconnection = ClientDisconnection()

  func handlerAdded(context: ChannelHandlerContext) {
    // A stream of HTTP/2 has its connection as parent, on the same event loop; a connection has the listening socket.
    let parent = context.channel.parent.flatMap { $0.eventLoop === context.eventLoop ? $0.pipeline : nil }
    for case let pipeline? in [context.pipeline, parent] {
      guard let handler = try? pipeline.syncOperations.handler(type: ConnectionHandler.self) else { continue }
      return handler.common.change(context.channel) { $0.disconnection = disconnection }
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? ChannelEvent, event == .inputClosed { disconnection.happen() }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    disconnection.happen()
    context.fireChannelInactive()
  }
}
