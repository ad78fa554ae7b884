import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import PageTesting

/// A web socket server on 127.0.0.1 that behaves as the requested path says, and records what it receives.
///
/// - `/echo` sends each message back, and answers a close
/// - `/chat` does the same with the subprotocol `chat`
/// - `/pieces` sends `one two three` in three frames, with a ping between them
/// - `/bye` closes with 4001 and `done`
/// - `/drop` ends the connection without a close frame
/// - `/large` sends a message of 100,000 bytes
/// - `/masked` sends a masked frame, which a server must not send
/// - `/deaf` answers no message and no close
/// - all other paths are refused with 404
package final class SocketServer: Sendable {
  package struct Heard: Sendable {
    package var texts: [String] = []
    package var closes: [Int] = []
    package var pongs = 0
    package var ended = 0
  }

  package let heard: Monitor<Heard>
  package let port: Int
  private let scheme: String
  private let channel: any Channel

  private init(_ channel: any Channel, scheme: String, heard: Monitor<Heard>) {
    self.channel = channel
    self.scheme = scheme
    port = channel.localAddress?.port ?? 0
    self.heard = heard
  }

  package func url(_ path: String) -> String { "\(scheme)://127.0.0.1:\(port)\(path)" }

  /// - Parameter certificate: the paths of a certificate and its key, for `wss`.
  package static func running(
    certificate: (certificate: String, key: String)? = nil, _ body: (SocketServer) async throws -> Void
  ) async throws {
    let heard = Monitor(Heard())
    let tls = try certificate.map { paths in
      try NIOSSLContext(
        configuration: .makeServerConfiguration(
          certificateChain: try NIOSSLCertificate.fromPEMFile(paths.certificate).map { .certificate($0) },
          privateKey: .privateKey(try NIOSSLPrivateKey(file: paths.key, format: .pem))))
    }
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try prepare(channel, tls, heard) }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let server = SocketServer(channel, scheme: tls == nil ? "ws" : "wss", heard: heard)
    do {
      try await body(server)
    } catch {
      try? await channel.close()
      throw error
    }
    try await channel.close()
  }

  /// Waits until the server has received something.
  package func wait(until condition: @escaping @Sendable (Heard) -> Bool) async throws {
    try await heard.wait(within: .seconds(10), until: condition) { NotHeard(heard: $0) }
  }

  private static func prepare(_ channel: any Channel, _ tls: NIOSSLContext?, _ heard: Monitor<Heard>) throws {
    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
    let paths = ["/echo", "/chat", "/pieces", "/bye", "/drop", "/large", "/masked", "/deaf"]
    let upgrader = NIOWebSocketServerUpgrader(
      maxFrameSize: 1 << 24,
      shouldUpgrade: { channel, head in
        let answer: HTTPHeaders = head.uri == "/chat" ? ["Sec-WebSocket-Protocol": "chat"] : [:]
        return channel.eventLoop.makeSucceededFuture(paths.contains(head.uri) ? answer : nil)
      },
      upgradePipelineHandler: { channel, head in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(ServerSocket(path: head.uri, heard))
        }
      })
    let refusal = Refusal()
    try channel.pipeline.syncOperations.configureHTTPServerPipeline(
      withServerUpgrade: (
        upgraders: [upgrader],
        completionHandler: { context in context.pipeline.syncOperations.removeHandler(refusal, promise: nil) }
      ))
    try channel.pipeline.syncOperations.addHandler(refusal)
  }
}

package struct NotHeard: Error {
  let heard: SocketServer.Heard
}

/// Answers requests that are not an upgrade.
private final class Refusal: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .end = unwrapInboundIn(data) else { return }
    let head = HTTPResponseHead(version: .http1_1, status: .notFound, headers: ["Content-Length": "0"])
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
  }
}
