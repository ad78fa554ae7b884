import HTTPTransport
import NIOCore
import NIOPosix
import PageTesting

/// A server on 127.0.0.1 that does not parse HTTP: it records the bytes of each connection, and answers with bytes.
package final class RawOrigin: Sendable {
  package struct Connection: Sendable {
    package var received: [UInt8] = []
    /// `true` if the client has closed its side.
    package var hasEnded = false
    package var isClosed = false
    fileprivate var channel: (any Channel)?

    package var text: String { String(decoding: received, as: UTF8.self) }
  }

  package let connections: Monitor<[Connection]>
  package let port: Int
  private let listener: any Channel

  private init(_ listener: any Channel, _ connections: Monitor<[Connection]>) {
    (self.listener, self.connections) = (listener, connections)
    port = listener.localAddress?.port ?? 0
  }

  package var url: PageURL? { PageURL("http://127.0.0.1:\(port)/") }

  /// - Parameter answer: called with all bytes of a connection whenever more have arrived; returns the bytes to send,
  ///   and `true` to close the connection after them: what arrives later is recorded only.
  package static func running(
    _ answer: @escaping @Sendable ([UInt8]) -> (bytes: [UInt8], closes: Bool)?,
    _ body: (RawOrigin) async throws -> Void
  ) async throws {
    let connections = Monitor<[Connection]>([])
    let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Handler(connections, answer))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    do {
      try await body(RawOrigin(listener, connections))
    } catch {
      try? await listener.close()
      throw error
    }
    try await listener.close()
  }

  /// Sends bytes on a connection.
  package func send(_ bytes: [UInt8], on number: Int = 0) async throws {
    let channel = connections.read { $0[number].channel }
    try await channel?.writeAndFlush(ByteBuffer(bytes: bytes))
  }

  /// Closes a connection, or only its output.
  package func close(_ number: Int = 0, mode: CloseMode = .all) async throws {
    try await connections.read { $0[number].channel }?.close(mode: mode)
  }

  package func wait(until condition: @escaping @Sendable ([Connection]) -> Bool) async throws {
    try await connections.wait(within: .seconds(60), until: condition)
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let connections: Monitor<[Connection]>
    private let answer: @Sendable ([UInt8]) -> (bytes: [UInt8], closes: Bool)?
    private var number = 0
    /// `true` once the answer was given after which the connection is closed.
    private var isAtEnd = false

    init(
      _ connections: Monitor<[Connection]>, _ answer: @escaping @Sendable ([UInt8]) -> (bytes: [UInt8], closes: Bool)?
    ) {
      (self.connections, self.answer) = (connections, answer)
    }

    func channelActive(context: ChannelHandlerContext) {
      let channel = context.channel
      number = connections.change { connections in
        connections.append(Connection(channel: channel))
        return connections.count - 1
      }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var bytes = unwrapInboundIn(data)
      let more = bytes.readBytes(length: bytes.readableBytes) ?? []
      connections.change { [number] in $0[number].received += more }
      guard !isAtEnd, let (bytes, closes) = answer(connections.read { $0[number].received }) else { return }
      isAtEnd = closes
      let channel = context.channel
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes))).whenComplete { _ in
        if closes { channel.close(promise: nil) }
      }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if let event = event as? ChannelEvent, event == .inputClosed {
        connections.change { [number] in $0[number].hasEnded = true }
      }
    }

    func channelInactive(context: ChannelHandlerContext) {
      connections.change { [number] in $0[number].isClosed = true }
    }
  }
}

extension Collection<UInt8> {
  package func ends(with bytes: [UInt8]) -> Bool { suffix(bytes.count).elementsEqual(bytes) }
}
