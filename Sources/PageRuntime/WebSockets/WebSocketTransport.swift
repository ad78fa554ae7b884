import HTTPTransport

/// Web sockets by RFC 6455, without extensions: the default of the handler `sockets`.
package struct WebSocketTransport: WebSocketing {
  /// The limits and the trust of connections.
  package struct Options: Sendable {
    /// The longest time for name resolution, connection, TLS and the opening request together.
    package var connectTimeout: Duration = .seconds(10)
    /// The longest time for the server to answer a close.
    package var closeTimeout: Duration = .seconds(5)
    /// The largest length of an incoming message in bytes.
    package var messageLimit = 16 << 20
    /// The path of a PEM file of certificate authorities; `nil` for the system's.
    package var certificateAuthorities: String?
    /// Called with the URL before a connection is made. If it throws, the page gets the error as text.
    package var permission: @Sendable (String) throws -> Void = { _ in }

    /// 10 s to connect, 5 s to close, 16 MiB per message.
    package init() {}
  }

  private let connector: WebSocketConnector
  private let options: Options

  /// A transport on the process's event loops.
  package init(_ options: Options = Options()) {
    self.options = options
    connector = WebSocketConnector(options)
  }

  /// Connects, sends the page's messages, and returns when the connection has ended. Cancelling the task closes it with
  /// 1001.
  package func run(
    _ request: WebSocketRequest, commands: AsyncStream<WebSocketCommand>,
    receive: @escaping @Sendable (WebSocketEvent) async -> Void
  ) async {
    do {
      let handshake = try Handshake(request)
      try options.permission(request.url)
      let socket = try await connector.open(handshake)
      let conversation = Conversation(socket, url: request.url, options: options, receive: receive)
      await conversation.run(commands)
    } catch {
      if !(error is CancellationError) { await receive(.failed(error.sentence)) }
      // RFC 6455 §7.1.5: the connection was never open.
      await receive(.closed(code: 1006, reason: "", wasClean: false))
    }
  }
}
