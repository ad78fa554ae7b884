import NIOCore
import NIOHTTP1
import NIOPosix

/// An HTTP/1.1 origin for tests: it listens on 127.0.0.1, serves given contents, injects given faults, and records its
/// requests.
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
/// A path matches requests with any query, unless it contains a query itself; `/api/*` matches all paths that begin with
/// `/api/`. The most specific path that matches a request applies.
///
/// The origin adds only the length and the fields of the connection to a response, so `Date` and `Cache-Control` are
/// absent unless a test adds them. The event loop alone serves static content and faults, even while a test blocks all
/// threads of Swift's pool; only handlers run in that pool.
///
/// An origin that is not stopped lives until the process ends.
public final class FaultOrigin: Sendable {
  /// The latency and speed of all responses.
  public struct Baseline: Hashable, Sendable {
    /// The time between a request and the head of its response.
    public var latency: Duration
    /// The speed of bodies on each connection in bytes per second; `nil` for no limit.
    public var bytesPerSecond: Int?
    /// Pass `true` to hold every response until this is `false` again.
    public var holdsResponses: Bool

    /// Creates a baseline; without arguments it has no effect.
    public init(latency: Duration = .zero, bytesPerSecond: Int? = nil, holdsResponses: Bool = false) {
      self.latency = latency
      self.bytesPerSecond = bytesPerSecond
      self.holdsResponses = holdsResponses
    }
  }

  /// The port of the origin; it never changes.
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
  ///   - port: the port to listen on; 0 for a free one.
  ///   - recordedBodyBytes: the number of bytes of each request's body that ``OriginRequest/body`` keeps.
  ///   - group: the event loops that serve the connections.
  /// - Returns: the running origin.
  /// - Throws: an error with the reason if the port is in use or not permitted.
  public static func start(
    port: Int = 0, recordedBodyBytes: Int = 1 << 20,
    on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
  ) async throws -> FaultOrigin {
    let origin = FaultOrigin(
      try PortReservation(port: port), group: group, recordedBodyBytes: recordedBodyBytes)
    try await origin.listen()
    return origin
  }

  /// Starts an origin, and stops it after `body` has returned or thrown.
  ///
  /// - Throws: an error with the reason if there is no port to listen on, and errors of `body`.
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

  /// Closes all connections and the port for good, with all held responses.
  ///
  /// Pending waits throw an error.
  public func stop() async throws {
    monitor.change { $0.phase = .stopped }
    await closeEverything()
  }

  /// Closes open connections and refuses new ones until ``acceptConnections()``.
  ///
  /// - Throws: an error if the origin has been stopped.
  public func refuseConnections() async throws {
    let isRunning = monitor.change { state in
      if state.phase == .accepting { state.phase = .refusing }
      return state.phase == .refusing
    }
    guard isRunning else { throw OriginError.stopped }
    await closeEverything()
  }

  /// Accepts connections again, on the same port.
  ///
  /// - Throws: an error if the origin has been stopped, or if its port is in use.
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
      let (socket, copy) = try monitor.change { $0.reservation }.makeSocket()
      let listener: OriginListener
      do {
        // Takes ownership of the socket.
        listener = OriginListener(channel: try await bootstrap.withBoundSocket(socket).get(), descriptor: copy)
      } catch {
        PortReservation.endListening(copy)
        throw error
      }
      let isWanted = monitor.change { state in
        if state.phase == .accepting { state.listener = listener }
        return state.phase == .accepting
      }
      if !isWanted { await listener.close() }
    } catch {
      monitor.change { if $0.phase == .accepting { $0.phase = .refusing } }
      throw OriginError.cannotListen(port: port, reason: "\(error)")
    }
  }

  private func closeEverything() async {
    let (listener, channels) = monitor.change { state in
      defer { state.listener = nil }
      return (state.listener, Array(state.channels.values))
    }
    await listener?.close()
    for channel in channels { channel.close(promise: nil) }
    for channel in channels { try? await channel.closeFuture.get() }
  }
}

// MARK: - Errors

/// An error of a ``FaultOrigin`` itself.
package enum OriginError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The port is in use or not permitted.
  case cannotListen(port: Int, reason: String)
  /// An expectation was not met in time; `found` is the last number.
  case deadlinePassed(waitedFor: String, limit: Duration, found: Int)
  /// The origin was stopped before or during the call.
  case stopped

  package var description: String {
    switch self {
    case .cannotListen(let port, let reason): "cannot listen on 127.0.0.1:\(port): \(reason)"
    case .deadlinePassed(let expectation, let limit, let found):
      "waited \(limit) for \(expectation), found \(found)"
    case .stopped: "the origin has been stopped"
    }
  }
}
