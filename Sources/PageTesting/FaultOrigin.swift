import NIOCore
import NIOHTTP1
import NIOPosix

/// An HTTP/1.1 origin for tests: it listens on 127.0.0.1, serves what it is told, goes wrong as it is told, and
/// writes down what it was asked.
///
/// ```swift
/// let origin = try await FaultOrigin.start()
/// origin.serve("/home.js", script, etag: "\"v1\"")
/// origin.script("/home.js", [.status(503, retryAfter: "1"), .resetAfter(bytes: 1000)])
/// // … the code under test loads origin.url(for: "/home.js") …
/// #expect(origin.requestCount(path: "/home.js") == 3)
/// try await origin.stop()
/// ```
///
/// Where a method takes a path it means every query, unless the path has one itself; `/api/*` means everything
/// that begins with `/api/`. The most specific path that matches a request wins.
///
/// Nothing is added to a response but its length and what concerns the connection: there is no `Date` and no
/// `Cache-Control` unless a test says so. Static content and faults are served by the event loop alone, so they
/// come even while a test blocks every thread of Swift's pool; only handlers run in that pool.
///
/// An origin that is not stopped lives as long as the process.
public final class FaultOrigin: Sendable {
  /// What holds for every response.
  public struct Baseline: Hashable, Sendable {
    /// The time between a request and the head of its response.
    public var latency: Duration
    /// The speed of bodies on each connection, nil for no limit.
    public var bytesPerSecond: Int?
    /// While true, every response waits.
    public var holdsResponses: Bool

    public init(latency: Duration = .zero, bytesPerSecond: Int? = nil, holdsResponses: Bool = false) {
      self.latency = latency
      self.bytesPerSecond = bytesPerSecond
      self.holdsResponses = holdsResponses
    }
  }

  /// The port it listens on, the same for its whole life.
  public let port: Int

  let monitor: Monitor<OriginState>
  private let group: any EventLoopGroup
  private let recordedBodyBytes: Int

  private init(_ reservation: PortReservation, group: any EventLoopGroup, recordedBodyBytes: Int) {
    port = reservation.port
    monitor = Monitor(OriginState(reservation))
    self.group = group
    self.recordedBodyBytes = recordedBodyBytes
  }

  /// Starts an origin that answers every path with 404.
  ///
  /// - Parameters:
  ///   - port: 0 for a free one.
  ///   - recordedBodyBytes: how much of each request's body is kept.
  ///   - group: where the connections are served.
  /// - Throws: ``OriginError/cannotListen(port:reason:)``
  public static func start(
    port: Int = 0, recordedBodyBytes: Int = 1 << 20,
    on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
  ) async throws -> FaultOrigin {
    let origin = FaultOrigin(
      try PortReservation(port: port), group: group, recordedBodyBytes: recordedBodyBytes)
    try await origin.listen()
    return origin
  }

  /// Starts an origin, and stops it when `body` has ended in whichever way.
  ///
  /// - Throws: ``OriginError/cannotListen(port:reason:)`` and what `body` throws.
  public nonisolated(nonsending) static func running<Result>(
    _ body: nonisolated(nonsending) (FaultOrigin) async throws -> Result
  ) async throws -> Result {
    let origin = try await start()
    do {
      let result = try await body(origin)
      try await origin.stop()
      return result
    } catch {
      try? await origin.stop()
      throw error
    }
  }

  /// The URL of a path, such as `http://127.0.0.1:49321/home.js`.
  public func url(for path: String) -> String {
    "http://127.0.0.1:\(port)\(path)"
  }

  /// Releases everything that is held, closes all connections, and gives the port back. It cannot be undone.
  ///
  /// Tests that wait for something get ``OriginError/stopped``.
  public func stop() async throws {
    monitor.change { $0.phase = .stopped }
    await closeEverything()
  }

  /// Takes the server down: open connections are closed, new ones refused, until ``acceptConnections()``.
  ///
  /// - Throws: ``OriginError/stopped``
  public func refuseConnections() async throws {
    let isRunning = monitor.change { state in
      if state.phase == .accepting { state.phase = .refusing }
      return state.phase == .refusing
    }
    guard isRunning else { throw OriginError.stopped }
    await closeEverything()
  }

  /// Brings the server up again, on the same port.
  ///
  /// - Throws: ``OriginError/stopped``, ``OriginError/cannotListen(port:reason:)``
  public func acceptConnections() async throws {
    let phase = monitor.change { state in
      let phase = state.phase
      if phase == .refusing { state.phase = .accepting }
      return phase
    }
    switch phase {
    case .accepting: return
    case .refusing: try await listen()
    case .stopped: throw OriginError.stopped
    }
  }

  // MARK: Sockets

  private func listen() async throws {
    let bootstrap = ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 512)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { [monitor, recordedBodyBytes] channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
          try pipeline.addHandler(OriginConnection(monitor, recordedBodyBytes: recordedBodyBytes))
        }
      }
    do {
      let listener = try await bootstrap.bind(host: "127.0.0.1", port: port).get()
      let isWanted = monitor.change { state in
        if state.phase == .accepting { state.listener = listener }
        return state.phase == .accepting
      }
      if !isWanted { try await listener.close() }
    } catch {
      monitor.change { if $0.phase == .accepting { $0.phase = .refusing } }
      throw OriginError.cannotListen(port: port, reason: "\(error)")
    }
  }

  private func closeEverything() async {
    let channels = monitor.change { state in
      let listener = state.listener.map { [$0] } ?? []
      state.listener = nil
      return listener + state.channels.values
    }
    for channel in channels { channel.close(promise: nil) }
    for channel in channels { try? await channel.closeFuture.get() }
  }
}
