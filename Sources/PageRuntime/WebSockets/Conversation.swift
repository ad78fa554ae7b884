import HTTPTransport
import NIOCore
import NIOWebSocket
import Synchronization

/// The exchange of frames over an open web socket, until both sides have closed it or the connection is lost.
final class Conversation: Sendable {
  private let socket: OpenSocket
  private let url: String
  private let options: WebSocketTransport.Options
  private let receive: @Sendable (WebSocketEvent) async -> Void
  private let state: Mutex<State>

  private struct State {
    var reading: FrameReading
    /// `true` once a close was sent: no frame may follow it. RFC 6455 §5.5.1.
    var hasSentClose = false
    var end: (code: Int, reason: String, wasClean: Bool) = (1006, "", false)
  }

  init(
    _ socket: OpenSocket, url: String, options: WebSocketTransport.Options,
    receive: @escaping @Sendable (WebSocketEvent) async -> Void
  ) {
    self.socket = socket
    self.url = url
    self.options = options
    self.receive = receive
    state = Mutex(State(reading: FrameReading(url: url, limit: options.messageLimit)))
  }

  /// Runs the connection to its end. The last event tells how it ended.
  func run(_ commands: AsyncStream<WebSocketCommand>) async {
    await receive(.opened(protocol: socket.agreedProtocol))
    do {
      // In a task of its own: a cancelled reader would close the channel before a close could be sent.
      let talk = Task { try await self.talk(commands) }
      try await withTaskCancellationHandler {
        try await talk.value
      } onCancel: {
        leave()
      }
    } catch let error as WebSocketError {
      await receive(.failed(error.description))
    } catch {
      let hasClosed = state.withLock(\.hasSentClose)
      if !hasClosed, !Task.isCancelled, !(error is CancellationError) {
        await receive(.failed(lost(error).description))
      }
    }
    // OpenSSL must not be in use when the process exits.
    try? await socket.channel.channel.closeFuture.get()
    let end = state.withLock(\.end)
    await receive(.closed(code: end.code, reason: end.reason, wasClean: end.wasClean))
  }

  private func lost(_ error: any Error) -> WebSocketError {
    guard case TLSError.failed? = error as? TLSError else { return .lost(url: url) }
    return .broken(url: url, reason: error.sentence)
  }

  private func talk(_ commands: AsyncStream<WebSocketCommand>) async throws {
    try await socket.channel.executeThenClose { inbound, outbound in
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await self.write(commands, outbound) }
        try await self.read(inbound, outbound)
        group.cancelAll()
      }
    }
  }

  // MARK: Reading

  private func read(
    _ inbound: NIOAsyncChannelInboundStream<WebSocketFrame>, _ outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>
  ) async throws {
    do {
      for try await frame in inbound {
        guard let action = state.withLock({ $0.reading.receive(frame) }) else { continue }
        switch action {
        case .deliver(let message):
          // After a close was sent, messages are read and dropped.
          if !state.withLock(\.hasSentClose) { await receive(.message(message)) }
        case .pong(let data):
          if !state.withLock(\.hasSentClose) { try await outbound.write(.masked(.pong, data)) }
        case .closed(let code, let reason):
          state.withLock { $0.end = (code, reason, true) }
          // RFC 6455 §5.5.1: answered with the code that came.
          try await sendClose(code == 1005 ? nil : code, "", outbound)
          return
        case .fail(let code, let error): try await fail(code, error, outbound)
        }
      }
    } catch NIOWebSocketError.invalidFrameLength {
      try await fail(.messageTooLarge, .tooLarge(url: url, limit: options.messageLimit), outbound)
    } catch let error as NIOWebSocketError {
      try await fail(.protocolError, .broken(url: url, reason: "\(error)"), outbound)
    }
    if !state.withLock(\.hasSentClose), !Task.isCancelled { throw WebSocketError.lost(url: url) }
  }

  /// RFC 6455 §7.1.7: sends a close with the reason's code, and ends the connection.
  private func fail(
    _ code: WebSocketErrorCode, _ error: WebSocketError, _ outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>
  ) async throws {
    try? await sendClose(Int(UInt16(webSocketErrorCode: code)), "", outbound)
    throw error
  }

  // MARK: Writing

  private func write(
    _ commands: AsyncStream<WebSocketCommand>, _ outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>
  ) async throws {
    for await command in commands {
      switch command {
      case .send(.text(let text)): try await outbound.write(.masked(.text, ByteBuffer(string: text)))
      case .send(.binary(let bytes)): try await outbound.write(.masked(.binary, ByteBuffer(bytes: bytes)))
      case .close(let code, let reason):
        try await sendClose(code, reason, outbound)
        try await Task.sleep(for: options.closeTimeout)
        // RFC 6455 §7.1.1: the client does not wait any longer for the server's close.
        socket.channel.channel.close(promise: nil)
        return
      }
    }
  }

  private func sendClose(
    _ code: Int?, _ reason: String, _ outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>
  ) async throws {
    guard claimClose() else { return }
    try await outbound.write(.masked(.connectionClose, Self.closeBody(code, reason)))
  }

  /// RFC 6455 §7.4.1: an endpoint that goes away sends 1001.
  private func leave() {
    let channel = socket.channel.channel
    let mustSend = claimClose()
    // Nothing is read between: the server's answer would count as an end that both sides agreed on.
    channel.eventLoop.execute {
      if mustSend {
        channel.writeAndFlush(WebSocketFrame.masked(.connectionClose, Self.closeBody(1001, "")), promise: nil)
      }
      channel.close(promise: nil)
    }
  }

  /// Returns `true` once: only one close is sent.
  private func claimClose() -> Bool {
    state.withLock { state in
      defer { state.hasSentClose = true }
      return !state.hasSentClose
    }
  }

  /// RFC 6455 §5.5.1: a code and at most 123 bytes of text.
  private static func closeBody(_ code: Int?, _ reason: String) -> ByteBuffer {
    guard let code, let short = UInt16(exactly: code) else { return ByteBuffer() }
    var body = ByteBuffer(integer: short)
    body.writeString(reason)
    return body
  }
}

extension WebSocketFrame {
  /// RFC 6455 §5.3: a client masks its frames with an unpredictable key.
  fileprivate static func masked(_ opcode: WebSocketOpcode, _ data: ByteBuffer) -> WebSocketFrame {
    WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data)
  }
}
