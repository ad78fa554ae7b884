import NIOCore
import NIOPosix
import Synchronization

/// Passes connections on to a port of 127.0.0.1, until it is cut.
package final class TCPRelay: Sendable {
  package let port: Int
  private let listener: any Channel
  private let connections: Connections

  private enum Mode { case open, stalled, cut }

  /// Its connections, on both sides.
  private final class Connections: Sendable {
    private let state = Mutex((mode: Mode.open, channels: [ObjectIdentifier: any Channel]()))

    /// - Returns: the mode of the connection.
    func add(_ channel: any Channel) -> Mode {
      state.withLock { state in
        if state.mode != .cut { state.channels[ObjectIdentifier(channel)] = channel }
        return state.mode
      }
    }

    func remove(_ channel: any Channel) {
      state.withLock { _ = $0.channels.removeValue(forKey: ObjectIdentifier(channel)) }
    }

    /// - Returns: those that are open.
    func set(_ mode: Mode) -> [any Channel] {
      state.withLock { state in
        state.mode = mode
        return Array(state.channels.values)
      }
    }
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
        let mode = connections.add(client)
        guard mode != .cut else { return client.close() }
        client.closeFuture.whenComplete { _ in connections.remove(client) }
        return ClientBootstrap(group: client.eventLoop).connect(host: "127.0.0.1", port: port).flatMap { server in
          _ = connections.add(server)
          server.closeFuture.whenComplete { _ in connections.remove(server) }
          return client.eventLoop.makeCompletedFuture {
            try client.pipeline.syncOperations.addHandler(Passing(to: server))
            try server.pipeline.syncOperations.addHandler(Passing(to: client))
          }.flatMap {
            let passes = mode == .open
            return server.setOption(.autoRead, value: passes).and(client.setOption(.autoRead, value: passes)).map { _ in
            }
          }
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    self.port = listener.localAddress?.port ?? 0
  }

  /// Closes all connections, and those that come.
  package func cut() {
    for connection in connections.set(.cut) { connection.close(promise: nil) }
  }

  /// Lets nothing through any more, and closes nothing, as a link that is down.
  package func stall() {
    for connection in connections.set(.stalled) { connection.setOption(.autoRead, value: false).whenComplete { _ in } }
  }

  package func heal() {
    for connection in connections.set(.open) { connection.setOption(.autoRead, value: true).whenComplete { _ in } }
  }

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
