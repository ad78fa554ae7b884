// MARK: - Records

extension FaultOrigin {
  /// All requests that arrived completely, in order.
  public var requests: [OriginRequest] { monitor.read(\.ledger.requests) }

  /// The requests for a path, in order.
  public func requests(to path: String) -> [OriginRequest] {
    requests.filter { PathPattern.matches(path, $0.path) }
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
  /// - Throws: an error with the number of those that arrived if the limit is over or the origin was stopped, or
  ///   `CancellationError`.
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
