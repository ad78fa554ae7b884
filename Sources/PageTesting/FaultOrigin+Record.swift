// MARK: - What has happened

extension FaultOrigin {
  /// Every request that has come in whole, in order.
  public var requests: [OriginRequest] { monitor.read(\.ledger.requests) }

  /// The requests for a path, in order.
  public func requests(to path: String) -> [OriginRequest] {
    requests.filter { PathPattern.matches(path, $0.path) }
  }

  public func requestCount(path: String) -> Int {
    monitor.read { $0.ledger.tally(of: path).requests }
  }

  /// How many bytes of bodies were given to the socket for a path, without heads and framing.
  public func bytesSent(path: String) -> Int {
    monitor.read { $0.ledger.tally(of: path).bodyBytes }
  }

  /// How many bytes of requests' bodies have come for a path, those of requests that are not whole among them.
  public func bytesReceived(path: String) -> Int {
    monitor.read { $0.ledger.tally(of: path).receivedBytes }
  }

  /// How many responses were sent to their last byte: none that a fault cut short or a client left.
  ///
  /// What a client has received is counted already.
  public func completedResponses(path: String) -> Int {
    monitor.read { $0.ledger.tally(of: path).completedResponses }
  }

  /// How many connections were accepted so far.
  public var connectionCount: Int { monitor.read(\.ledger.connections) }

  /// How many connections are open now.
  public var openConnectionCount: Int { monitor.read(\.ledger.openConnections) }

  /// How many requests are being answered now, the held and the stalled ones among them.
  public var activeRequestCount: Int { monitor.read(\.ledger.activeRequests) }

  /// The most requests that were being answered at one time.
  public var maxConcurrentRequests: Int { monitor.read(\.ledger.maxActiveRequests) }
}

// MARK: - Waiting for it

extension FaultOrigin {
  /// Returns once at least that many requests for a path have come in, counted from the origin's start.
  ///
  /// - Throws: ``OriginError/deadlinePassed(waitedFor:limit:found:)``, ``OriginError/stopped``, or
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

  /// Returns once at least that many responses for a path have been sent whole, counted from the origin's start.
  ///
  /// - Throws: as ``waitForRequests(_:to:within:)``.
  public func waitForCompletedResponses(
    _ count: Int, to path: String = "/*", within limit: Duration = .seconds(60)
  ) async throws {
    try await wait(for: "\(count) complete responses to \(path)", within: limit) {
      $0.tally(of: path).completedResponses
    } until: {
      $0 >= count
    }
  }

  /// Returns once at least that many bytes of requests' bodies have come for a path.
  ///
  /// - Throws: as ``waitForRequests(_:to:within:)``.
  public func waitForReceivedBytes(
    _ count: Int, to path: String = "/*", within limit: Duration = .seconds(60)
  ) async throws {
    try await wait(for: "\(count) bytes for \(path)", within: limit) {
      $0.tally(of: path).receivedBytes
    } until: {
      $0 >= count
    }
  }

  /// Returns once exactly that many connections are open: 0 when the client has left.
  ///
  /// - Throws: as ``waitForRequests(_:to:within:)``.
  public func waitForOpenConnections(_ count: Int, within limit: Duration = .seconds(60)) async throws {
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
