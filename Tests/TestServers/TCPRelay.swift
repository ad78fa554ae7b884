import NIOCore
import NIOPosix
import Synchronization

/// Passes connections on to a port of 127.0.0.1, until it is cut.
package final class TCPRelay: Sendable {
  package let port: Int
  private let listener: any Channel
  private let connections: Connections

  private final class Connections: Sendable {
    private let channels = Mutex<[ObjectIdentifier: any Channel]?>([:])

    /// - Returns: `false` if connections are cut.
    func add(_ channel: any Channel) -> Bool {
      channels.withLock { channels in
        channels?[ObjectIdentifier(channel)] = channel
        return channels != nil
      }
    }

    func remove(_ channel: any Channel) {
      channels.withLock { _ = $0?.removeValue(forKey: ObjectIdentifier(channel)) }
    }

    /// - Returns: those that were open.
    func cut() -> [any Channel] {
      channels.withLock { channels in
        defer { channels = nil }
        return Array((channels ?? [:]).values)
      }
    }

    func heal() { channels.withLock { $0 = $0 ?? [:] } }
  }

  /// Starts a relay, and stops it when `body` has returned or thrown.
  package static func running<Result>(to port: Int, _ body: (TCPRelay) async throws -> Result) async throws -> Result {
    let relay = try await TCPRelay(to: port)
    do {
      let result = try await body(relay)
      try await relay.stop()
      return result
    } catch {
      try? await relay.stop()
      throw error
    }
  }

  private init(to port: Int) async throws {
    let connections = Connections()
    self.connections = connections
    listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .childChannelOption(.autoRead, value: false)
      .childChannelInitializer { client in
        guard connections.add(client) else { return client.close() }
        client.closeFuture.whenComplete { _ in connections.remove(client) }
        return ClientBootstrap(group: client.eventLoop).connect(host: "127.0.0.1", port: port).flatMap { server in
          client.eventLoop.makeCompletedFuture {
            try client.pipeline.syncOperations.addHandler(Passing(to: server))
            try server.pipeline.syncOperations.addHandler(Passing(to: client))
          }.flatMap { client.setOption(.autoRead, value: true) }
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    self.port = listener.localAddress?.port ?? 0
  }

  /// Closes all connections, and those that come.
  package func cut() {
    for connection in connections.cut() { connection.close(promise: nil) }
  }

  package func heal() { connections.heal() }

  private func stop() async throws {
    cut()
    try await listener.close()
  }

  private final class Passing: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let other: any Channel

    init(to other: any Channel) { self.other = other }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      other.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
}
