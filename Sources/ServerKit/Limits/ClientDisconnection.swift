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
    let task = Task { try await body() }
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

  /// The disconnection of a request's client; one that never occurs if the channel has no
  /// ``ClientDisconnectionHandler``.
  package static func of(_ channel: any Channel) async -> ClientDisconnection {
    await (try? channel.pipeline.handler(type: ClientDisconnectionHandler.self).map(\.disconnection).get())
      ?? ClientDisconnection()
  }
}

/// Detects that a client closes its side, as most do when they no longer want the answer, or resets its stream.
final class ClientDisconnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny

  let disconnection = ClientDisconnection()

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? ChannelEvent, event == .inputClosed { disconnection.happen() }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    disconnection.happen()
    context.fireChannelInactive()
  }
}
