import NIOCore
import NIOPosix
import NIOSSL
import PageTesting

/// A client that sends exact bytes over TLS, and keeps all that it receives.
package final class SecureClient: Sendable {
  package struct Received: Sendable {
    package var bytes: [UInt8] = []
    package var isClosed = false
  }

  package let received: Monitor<Received>
  private let channel: any Channel

  private init(_ channel: any Channel, _ received: Monitor<Received>) {
    (self.channel, self.received) = (channel, received)
  }

  /// Connects, without checking the server's certificate.
  ///
  /// - Parameters:
  ///   - protocols: the names of the protocols for the handshake.
  ///   - reads: `false` for a client that never reads: its buffers fill up.
  package static func connected(
    port: Int, protocols: [String] = ["h2"], reads: Bool = true
  ) async throws -> SecureClient {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.certificateVerification = .none
    configuration.applicationProtocols = protocols
    let context = try NIOSSLContext(configuration: configuration)
    let received = Monitor(Received())
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelOption(.socketOption(.so_rcvbuf), value: reads ? 1 << 18 : 4 << 10)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandlers([
            try NIOSSLClientHandler(context: context, serverHostname: nil), Recorder(received, reads: reads),
          ])
        }
      }
      .connect(host: "127.0.0.1", port: port).get()
    return SecureClient(channel, received)
  }

  /// Sends bytes, and does not wait until the server has taken them.
  package func send(_ bytes: [UInt8]) {
    channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
  }

  /// Sends bytes, and returns when the system has taken them, or the connection has ended.
  package func sent(_ bytes: [UInt8]) async { try? await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

  package func close() { channel.close(promise: nil) }

  deinit { channel.close(promise: nil) }

  private final class Recorder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let received: Monitor<Received>
    private let reads: Bool

    init(_ received: Monitor<Received>, reads: Bool) { (self.received, self.reads) = (received, reads) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let bytes = Array(unwrapInboundIn(data).readableBytesView)
      received.change { $0.bytes += bytes }
      // The first bytes are read: they belong to the handshake.
      if !reads { context.channel.setOption(.autoRead, value: false).whenComplete { _ in } }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelInactive(context: ChannelHandlerContext) { received.change { $0.isClosed = true } }
  }
}
