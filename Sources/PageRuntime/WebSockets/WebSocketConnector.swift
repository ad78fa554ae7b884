import HTTPTransport
import NIOConnecting
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Synchronization

/// An open web socket and its subprotocol.
struct OpenSocket: Sendable {
  let channel: NIOAsyncChannel<WebSocketFrame, WebSocketFrame>
  let agreedProtocol: String
}

/// Opens connections: TCP, TLS for `wss`, and the opening request.
struct WebSocketConnector: Sendable {
  private let options: WebSocketTransport.Options
  private let trust: TLSTrust

  init(_ options: WebSocketTransport.Options) {
    self.options = options
    trust = TLSTrust(file: options.certificateAuthorities)
  }

  /// - Throws: ``WebSocketError``, `CancellationError`.
  func open(_ handshake: Handshake) async throws -> OpenSocket {
    let address = handshake.address
    let ends = Mutex<[EventLoopFuture<Void>]>([])
    do {
      let tls = address.isSecure ? try await NIOThreadPool.singleton.runIfActive { try trust.context() } : nil
      // The process's event loops are made when they are first used: many processes open no web socket.
      return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connectTimeout(TimeAmount(options.connectTimeout))
        .connect(host: address.host, port: address.port) { channel in
          // One for each address of the host that is tried.
          ends.withLock { $0.append(channel.closeFuture) }
          return try prepare(channel, handshake, tls)
        }
    } catch {
      // OpenSSL must not be in use when the process exits.
      for end in ends.withLock(\.self) { try? await end.get() }
      throw error is CancellationError ? error : named(error, address)
    }
  }

  private func prepare(
    _ channel: any Channel, _ handshake: Handshake, _ tls: TLSContext?
  ) throws -> EventLoopFuture<OpenSocket> {
    let address = handshake.address
    let pipeline = channel.pipeline.syncOperations
    if let tls { try pipeline.addHandler(try TLSClientHandler(tls, host: address.host)) }
    let observer = ResponseHeadObserver()
    let upgrader = NIOTypedWebSocketClientUpgrader<OpenSocket>(
      maxFrameSize: min(options.messageLimit, Int(Int32.max)), enableAutomaticErrorHandling: false
    ) { channel, answer in
      channel.eventLoop.makeCompletedFuture {
        OpenSocket(
          channel: try NIOAsyncChannel(wrappingChannelSynchronously: channel),
          agreedProtocol: try handshake.agreedProtocol(answer))
      }
    }
    var configuration = NIOUpgradableHTTPClientPipelineConfiguration(
      upgradeConfiguration: .init(
        upgradeRequestHead: handshake.head, upgraders: [upgrader],
        notUpgradingCompletionHandler: { channel in
          let status = observer.head.map { Int($0.status.code) } ?? 0
          return channel.eventLoop.makeFailedFuture(WebSocketError.refused(url: address.url, status: status))
        }))
    // A server may send frames at once after its answer.
    configuration.leftOverBytesStrategy = .forwardBytes
    let opened = try pipeline.configureUpgradableHTTPClientPipeline(configuration: configuration)
    let upgradeHandler = try pipeline.handler(type: NIOTypedHTTPClientUpgradeHandler<OpenSocket>.self)
    try pipeline.addHandler(observer, position: .before(upgradeHandler))
    let limit = options.connectTimeout
    let alarm = channel.eventLoop.scheduleTask(in: TimeAmount(limit)) {
      channel.pipeline.fireErrorCaught(WebSocketError.timedOut(url: address.url, limit: limit))
      channel.close(promise: nil)
    }
    opened.whenComplete { _ in alarm.cancel() }
    return opened
  }

  private func named(_ error: any Error, _ address: WebSocketAddress) -> any Error {
    switch error {
    case is WebSocketError: return error
    case ChannelError.connectTimeout:
      return WebSocketError.timedOut(url: address.url, limit: options.connectTimeout)
    case let error as NIOConnectionError:
      let reason = error.connectionErrors.first.map { "\($0.error)" } ?? "its name is not known"
      return WebSocketError.unreachable(url: address.url, reason: reason)
    case is NIOHTTPClientUpgradeError:
      return WebSocketError.badHandshake(url: address.url, reason: "its Sec-WebSocket-Accept or Upgrade is wrong")
    case is HTTPParserError: return WebSocketError.badHandshake(url: address.url, reason: "it is not HTTP")
    case is ChannelError: return WebSocketError.lost(url: address.url)
    default: return WebSocketError.unreachable(url: address.url, reason: error.sentence)
    }
  }
}

/// Stores the head of the answer to the opening request, and then removes itself from the pipeline.
private final class ResponseHeadObserver: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = HTTPClientResponsePart
  typealias InboundOut = HTTPClientResponsePart

  private let seen = Mutex<HTTPResponseHead?>(nil)

  var head: HTTPResponseHead? { seen.withLock(\.self) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .head(let head) = unwrapInboundIn(data) { seen.withLock { $0 = head } }
    context.fireChannelRead(data)
    // After an upgrade no more HTTP comes.
    if head != nil { context.pipeline.syncOperations.removeHandler(self, promise: nil) }
  }
}
