import HTTPTypes
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
  /// - Throws: ``OriginError/cannotListen(port:reason:)`` if the port is in use or not permitted.
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
  /// - Throws: ``OriginError/cannotListen(port:reason:)`` if there is no port to listen on, and errors of `body`.
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
  /// Pending waits throw ``OriginError/stopped``.
  ///
  /// - Throws: no error today; ``OriginError`` is reserved.
  public func stop() async throws {
    monitor.change { $0.phase = .stopped }
    await closeEverything()
  }

  /// Closes open connections and refuses new ones until ``acceptConnections()``.
  ///
  /// - Throws: ``OriginError/stopped`` if the origin has been stopped.
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
  /// - Throws: ``OriginError`` if the origin has been stopped, or if its port is in use.
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
      let channel: any Channel
      do {
        // Takes ownership of the socket.
        channel = try await bootstrap.withBoundSocket(socket).get()
      } catch {
        PortReservation.endListening(copy)
        throw error
      }
      let isWanted = monitor.change { state in
        if state.phase == .accepting { state.listener = (channel, copy) }
        return state.phase == .accepting
      }
      if !isWanted { await Self.close((channel, copy)) }
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
    if let listener { await Self.close(listener) }
    for channel in channels { channel.close(promise: nil) }
    for channel in channels { try? await channel.closeFuture.get() }
  }

  /// Refuses connections from now on, and returns when the socket that listens is closed.
  private static func close(_ listener: (channel: any Channel, descriptor: Int32)) async {
    let (channel, descriptor) = listener
    // On its event loop, which accepts no connection in between.
    channel.eventLoop.execute {
      PortReservation.endListening(descriptor)
      channel.close(promise: nil)
    }
    try? await channel.closeFuture.get()
  }
}

// MARK: - Errors

/// An error of a ``FaultOrigin`` itself.
public enum OriginError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The port is in use or not permitted.
  case cannotListen(port: Int, reason: String)
  /// An expectation was not met in time; `found` is the last number.
  case deadlinePassed(waitedFor: String, limit: Duration, found: Int)
  /// The origin was stopped before or during the call.
  case stopped

  public var description: String {
    switch self {
    case .cannotListen(let port, let reason): "cannot listen on 127.0.0.1:\(port): \(reason)"
    case .deadlinePassed(let expectation, let limit, let found):
      "waited \(limit) for \(expectation), found \(found)"
    case .stopped: "the origin has been stopped"
    }
  }
}

// MARK: - Contents

extension FaultOrigin {
  /// Serves bytes at a path, in place of its previous content.
  ///
  /// The origin supports `GET` and `HEAD`, `If-None-Match`, `If-Modified-Since` (with the exact date), `Range` with one
  /// range of bytes, and `If-Range`. A response that has begun keeps its bytes.
  ///
  /// - Parameters:
  ///   - path: the path.
  ///   - bytes: the body.
  ///   - contentType: the value of `Content-Type`.
  ///   - etag: the value of `ETag`, with quotes, and with `W/` for a weak one.
  ///   - lastModified: the value of `Last-Modified`, an HTTP date.
  ///   - headers: further fields; they replace those of the other parameters.
  public func serve(
    _ path: String, _ bytes: some Sequence<UInt8>, contentType: String = "text/javascript", etag: String? = nil,
    lastModified: String? = nil, headers: HTTPFields = [:]
  ) {
    let content = OriginContent(
      Array(bytes), contentType: contentType, etag: etag, lastModified: lastModified, headers: headers)
    monitor.change { $0.routes[path] = .content(content) }
  }

  /// Answers requests for a path with the response of a handler, or with 500 if it throws.
  ///
  /// The handler's task is cancelled when the client disconnects.
  public func respond(
    _ path: String, with handler: @escaping @Sendable (OriginRequest) async throws -> OriginResponse
  ) {
    monitor.change { $0.routes[path] = .handler(handler) }
  }

  /// Removes the content or the handler of exactly this path.
  public func remove(_ path: String) {
    monitor.change { $0.routes[path] = nil }
  }
}

// MARK: - Early responses

extension FaultOrigin {
  /// Answers requests for a path as soon as their heads have arrived. Their bodies are read and discarded, and no `100`
  /// is sent.
  package func answerHeads(_ path: String) {
    monitor.change { _ = $0.headPatterns.insert(path) }
  }
}

// MARK: - Faults

extension FaultOrigin {
  /// Applies the faults to the next requests for a path, one to each, in order.
  ///
  /// The faults replace the rest of an earlier script. After the last one, ``always(_:_:)`` applies.
  public func script(_ path: String, _ faults: [Fault]) {
    monitor.change { $0.scripts[path] = faults.isEmpty ? nil : faults[...] }
  }

  /// Applies the fault to every request for a path without a script, until ``Fault/normal`` is set.
  public func always(_ path: String, _ fault: Fault) {
    monitor.change { $0.standingFaults[path] = fault == .normal ? nil : fault }
  }

  /// The latency and speed of all later responses.
  public var baseline: Baseline {
    get { monitor.read(\.baseline) }
    set { monitor.change { $0.baseline = newValue } }
  }
}

// MARK: - Holding responses

extension FaultOrigin {
  /// Holds responses for a path until ``release(_:)``. Their contents are determined when the request arrives.
  public func hold(_ path: String) {
    monitor.change { _ = $0.heldPatterns.insert(path) }
  }

  /// Sends the held responses in the order of their requests, and later ones at once.
  public func release(_ path: String) {
    monitor.change { _ = $0.heldPatterns.remove(path) }
  }
}

// MARK: - Records

extension FaultOrigin {
  /// All requests that arrived completely, in order.
  public var requests: [OriginRequest] { monitor.read(\.ledger.requests) }

  /// The requests for a path, in order.
  public func requests(to path: String) -> [OriginRequest] {
    requests.filter { path.matches(target: $0.path) }
  }

  /// The number of requests for a path that arrived completely.
  public func requestCount(path: String) -> Int {
    monitor.read { $0.ledger.tally(of: path).requests }
  }

  /// The number of body bytes that were written to sockets for a path, without heads and framing.
  public func bytesSent(path: String) -> Int {
    monitor.read { $0.ledger.tally(of: path).bodyBytes }
  }

  /// The number of body bytes that were received for a path, with those of incomplete requests.
  package func bytesReceived(path: String) -> Int {
    monitor.read { $0.ledger.tally(of: path).receivedBytes }
  }

  /// The number of responses for a path that were sent completely. A response that a client has received completely is
  /// counted.
  package func completedResponses(path: String) -> Int {
    monitor.read { $0.ledger.tally(of: path).completedResponses }
  }

  /// The number of connections accepted so far.
  public var connectionCount: Int { monitor.read(\.ledger.connections) }

  /// The number of open connections.
  package var openConnectionCount: Int { monitor.read(\.ledger.openConnections) }

  /// The number of requests without a complete response, with held and stalled ones.
  package var activeRequestCount: Int { monitor.read(\.ledger.activeRequests) }

  /// The largest value of ``activeRequestCount`` so far.
  package var maxConcurrentRequests: Int { monitor.read(\.ledger.maxActiveRequests) }
}

// MARK: - Waiting

extension FaultOrigin {
  /// Returns once at least `count` requests for a path have arrived since the origin's start.
  ///
  /// - Throws: ``OriginError``, with the number of those that arrived if the limit is over; `CancellationError`.
  public func waitForRequests(
    _ count: Int, to path: String = "/*", within limit: Duration = .seconds(60)
  ) async throws {
    try await wait(for: "\(count) requests to \(path)", within: limit) {
      $0.tally(of: path).requests
    } until: {
      $0 >= count
    }
  }

  /// Returns once at least `count` responses for a path have been sent completely since the origin's start.
  ///
  /// - Throws: the errors of ``waitForRequests(_:to:within:)``.
  package func waitForCompletedResponses(
    _ count: Int, to path: String = "/*", within limit: Duration = .seconds(60)
  ) async throws {
    try await wait(for: "\(count) complete responses to \(path)", within: limit) {
      $0.tally(of: path).completedResponses
    } until: {
      $0 >= count
    }
  }

  /// Returns once at least `count` bytes of request bodies have arrived for a path.
  ///
  /// - Throws: the errors of ``waitForRequests(_:to:within:)``.
  package func waitForReceivedBytes(
    _ count: Int, to path: String = "/*", within limit: Duration = .seconds(60)
  ) async throws {
    try await wait(for: "\(count) bytes for \(path)", within: limit) {
      $0.tally(of: path).receivedBytes
    } until: {
      $0 >= count
    }
  }

  /// Returns once exactly `count` connections are open; 0 waits for the client to disconnect.
  ///
  /// - Throws: the errors of ``waitForRequests(_:to:within:)``.
  package func waitForOpenConnections(_ count: Int, within limit: Duration = .seconds(60)) async throws {
    try await wait(for: "\(count) open connections", within: limit, measuring: \.openConnections) { $0 == count }
  }

  private func wait(
    for expectation: String, within limit: Duration, measuring measure: @escaping @Sendable (OriginLedger) -> Int,
    until isReached: @escaping @Sendable (Int) -> Bool
  ) async throws {
    try await monitor.wait(within: limit) { state in
      state.phase == .stopped || isReached(measure(state.ledger))
    } failure: { state in
      OriginError.deadlinePassed(waitedFor: expectation, limit: limit, found: measure(state.ledger))
    }
    let isStopped = monitor.read { $0.phase == .stopped && !isReached(measure($0.ledger)) }
    if isStopped { throw OriginError.stopped }
  }
}
