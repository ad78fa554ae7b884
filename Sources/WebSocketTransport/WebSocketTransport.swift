import NIOCore
import NIOPosix
import PageRuntime

/// Web sockets by RFC 6455, without extensions.
public struct WebSocketTransport: WebSocketing {
  public struct Options: Sendable {
    /// For the name, the connection, TLS and the opening request together.
    public var connectTimeout: Duration = .seconds(10)
    /// How long the server may take to answer a close.
    public var closeTimeout: Duration = .seconds(5)
    /// Bytes of one message that comes.
    public var messageLimit = 16 << 20
    /// A PEM file of certificate authorities instead of the system's.
    public var certificateAuthorities: String?
    /// Asked with the URL before a connection is made; throws what the page is to be told.
    public var permission: @Sendable (String) throws -> Void = { _ in }

    public init() {}
  }

  private let connector: WebSocketConnector
  private let options: Options

  public init(_ options: Options = Options()) {
    self.options = options
    connector = WebSocketConnector(group: MultiThreadedEventLoopGroup.singleton, options: options)
  }

  public func run(
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
      if !(error is CancellationError) { await receive(.failed("\(error)")) }
      // RFC 6455 §7.1.5: the connection was never open.
      await receive(.closed(code: 1006, reason: "", wasClean: false))
    }
  }
}
