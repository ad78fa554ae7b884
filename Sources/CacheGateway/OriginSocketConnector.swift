import Foundation
import HTTPTransport
import HTTPTypes
import NIOConnecting
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import ServerKit
import Synchronization

/// Opens connections to one origin that request a web socket. Each is for one client and is never reused, so that an
/// origin that does not switch cannot take a client's bytes for another request.
struct OriginSocketConnector: Sendable {
  /// A response, its bytes, and the connection that it arrived on.
  typealias Opening = (head: HTTPResponseHead, bytes: BytePipe, channel: any Channel)

  private let settings: OriginSettings
  private let servers: OriginServers
  /// `nil` if none of its servers uses TLS.
  private let tls: NIOSSLContext?

  /// - Throws: the error of reading the origin's certificate authorities.
  init(_ settings: OriginSettings, _ servers: OriginServers) throws {
    (self.settings, self.servers) = (settings, servers)
    tls = servers.urls.contains { $0.origin.hasPrefix("https:") } ? try Self.makeTLS(settings) : nil
  }

  /// The address that a server listens on.
  private struct Place {
    let isSecure: Bool
    let host: String
    let port: Int
    /// The value of the `Host` field.
    let authority: String

    init(_ url: PageURL) {
      let parts = URLComponents(string: url.origin)
      isSecure = parts?.scheme == "https"
      let name = parts?.host ?? ""
      host = name.hasPrefix("[") && name.hasSuffix("]") ? String(name.dropFirst().dropLast()) : name
      port = parts?.port ?? (isSecure ? 443 : 80)
      authority = HTTPRequest(url: url)?.authority ?? name
    }
  }

  private static func makeTLS(_ settings: OriginSettings) throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["http/1.1"]
    if let path = settings.certificateAuthorities { configuration.trustRoots = .file(path) }
    return try NIOSSLContext(configuration: configuration)
  }

  /// - Parameters:
  ///   - path: the target of the request.
  ///   - fields: the fields as for any other request.
  /// - Throws: ``TransportError``, `CancellationError`.
  func open(_ path: String, _ fields: HTTPFields) async throws -> Opening {
    try await servers.first(for: settings.url.origin + path) { server, _ in
      try await open(path, fields, at: Place(server), server.origin + path)
    }
  }

  private func open(_ path: String, _ fields: HTTPFields, at place: Place, _ url: String) async throws -> Opening {
    do {
      return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connectTimeout(TimeAmount(settings.connectTime))
        .connect(host: place.host, port: place.port) { try prepare($0, path, fields, place, url) }
    } catch let error as CancellationError {
      throw error
    } catch {
      throw named(error, url)
    }
  }

  private func prepare(
    _ channel: any Channel, _ path: String, _ fields: HTTPFields, _ place: Place, _ url: String
  ) throws -> EventLoopFuture<Opening> {
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(IdleStateHandler(allTimeout: TimeAmount(settings.idleTime)))
    try pipeline.addHandler(IdleSocketHandler())
    if place.isSecure, let tls {
      let isAddress = (try? SocketAddress(ipAddress: place.host, port: 0)) != nil
      // RFC 6066 §3: a name is part of the handshake, an address must not be.
      try pipeline.addHandler(try NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : place.host))
    }
    let heads = ResponseHeads()
    let bytes = BytePipe()
    var configuration = NIOUpgradableHTTPClientPipelineConfiguration<Opening>(
      upgradeConfiguration: .init(
        upgradeRequestHead: head(path, fields, place),
        upgraders: [SocketUpgrader(key: Self.key.flatMap { fields[$0] }, bytes: bytes)],
        notUpgradingCompletionHandler: { channel in
          channel.eventLoop.makeCompletedFuture {
            guard let head = heads.last else { throw HTTPParserError.invalidStatus }
            let cut = TransportError.closedEarly(url: url, received: 0, reason: "it ended in the body")
            try channel.pipeline.syncOperations.addHandler(
              PipeHandler<HTTPClientResponsePart>(bytes, endingWith: .failure(cut)) { part in
                switch part {
                case .head: .nothing
                case .body(let bytes): .bytes(bytes)
                case .end: .end
                }
              })
            return (head, bytes, channel)
          }
        }))
    configuration.leftOverBytesStrategy = .forwardBytes
    let opened = try pipeline.configureUpgradableHTTPClientPipeline(configuration: configuration)
    let upgradeHandler = try pipeline.handler(type: NIOTypedHTTPClientUpgradeHandler<Opening>.self)
    try pipeline.addHandler(heads, position: .before(upgradeHandler))
    return opened
  }

  private static let key = HTTPField.Name("Sec-WebSocket-Key")

  /// Makes the head. The encoder writes UTF-8: bytes that are not UTF-8 become characters.
  private func head(_ path: String, _ fields: HTTPFields, _ place: Place) -> HTTPRequestHead {
    var headers = HTTPHeaders()
    headers.add(name: "Host", value: place.authority)
    for field in fields.readable { headers.add(name: field.name.rawName, value: field.value) }
    return HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: headers)
  }

  private func named(_ error: any Error, _ url: String) -> any Error {
    switch error {
    case ChannelError.connectTimeout: return TransportError.timedOut(url: url, after: settings.connectTime)
    case let error as NIOConnectionError:
      guard let reason = error.connectionErrors.first else {
        return TransportError.cannotResolve(url: url, reason: "\(error.dnsAError ?? error.dnsAAAAError ?? error)")
      }
      return TransportError.cannotConnect(url: url, reason: "\(reason.error)")
    case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
      return TransportError.insecure(url: url, reason: error.sentence)
    case is IdleSocketError:
      return TransportError.tooSlow(url: url, bytesPerSecond: 1, over: settings.idleTime)
    case is NIOHTTPClientUpgradeError:
      return TransportError.malformed(
        url: url, reason: "it agrees to another protocol than a web socket's (RFC 6455 §4.1)")
    case is HTTPParserError, is NIOHTTPDecoderError: return TransportError.malformed(url: url, reason: error.sentence)
    default: return TransportError.closedEarly(url: url, received: 0, reason: error.sentence)
    }
  }
}

/// Accepts a response that matches the client's key, and forwards the bytes after it.
private struct SocketUpgrader: NIOTypedHTTPClientProtocolUpgrader {
  let key: String?
  let bytes: BytePipe

  let supportedProtocol = "websocket"
  let requiredUpgradeHeaders: [String] = []

  func addCustom(upgradeRequestHeaders: inout HTTPHeaders) {}

  /// RFC 6455 §4.1. A server that switches without the key does not speak the web socket protocol, and might take the
  /// client's bytes for requests.
  func shouldAllowUpgrade(upgradeResponse head: HTTPResponseHead) -> Bool {
    guard let key, let expected = WebSocketKey.accepted(key) else { return false }
    return head.headers["Sec-WebSocket-Accept"] == [expected]
  }

  func upgrade(
    channel: any Channel, upgradeResponse head: HTTPResponseHead
  ) -> EventLoopFuture<OriginSocketConnector.Opening> {
    channel.eventLoop.makeCompletedFuture {
      try channel.pipeline.syncOperations.addHandler(
        PipeHandler<ByteBuffer>(bytes, endingWith: .success(())) { .bytes($0) })
      return (head, bytes, channel)
    }
  }
}

/// Keeps the last head that arrived.
private final class ResponseHeads: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = HTTPClientResponsePart
  typealias InboundOut = HTTPClientResponsePart

  private let seen = Mutex<HTTPResponseHead?>(nil)

  var last: HTTPResponseHead? { seen.withLock(\.self) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .head(let head) = unwrapInboundIn(data) { seen.withLock { $0 = head } }
    context.fireChannelRead(data)
    // Bytes after an upgrade are not HTTP.
    if last != nil { context.pipeline.syncOperations.removeHandler(self, promise: nil) }
  }
}

/// Ends a connection after a time without bytes in either direction.
private final class IdleSocketHandler: ChannelInboundHandler {
  typealias InboundIn = NIOAny

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard event is IdleStateHandler.IdleStateEvent else { return context.fireUserInboundEventTriggered(event) }
    context.fireErrorCaught(IdleSocketError())
    context.close(promise: nil)
  }
}

/// Neither side has sent a byte within the idle time.
struct IdleSocketError: Error {}
