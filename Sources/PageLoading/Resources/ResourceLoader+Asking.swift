import HTTPCaching
import HTTPTypes
import PageCore
import Synchronization

extension ResourceLoader {
  /// Asks the origin, and turns to what is stored where the behaviour allows that after a failure.
  func ask(
    _ hop: Hop, _ request: HTTPRequest, validating cached: CachedResponse?, _ found: [CachedResponse],
    _ reason: ForwardReason
  ) async throws -> (loaded: Loaded, remaining: Int64) {
    try configuration.permission(hop.url)
    // Whoever insists on the network gets a try at it.
    let mayGo =
      [.reloading, .reloadingPastAllCaches].contains(hop.behavior.network)
      ? reachability.setting != .offline : reachability.admits(hop.url)
    guard mayGo else {
      if let answer = await fallback(hop, found, detail: "offline") { return answer }
      throw LoadError.offline(hop.url)
    }
    do {
      guard let patience = hop.behavior.patience else {
        return try await exchange(hop, request, validating: cached, reason)
      }
      // What takes too long goes on, for the next time.
      let work = Task { try await exchange(hop, request, validating: cached, reason) }
      let answer = try await withTaskCancellationHandler {
        try await within(patience) { try await work.valueForWaiter() }
      } onCancel: {
        work.cancel()
      }
      if let answer { return answer }
      guard let late = await fallback(hop, found, detail: "timeout") else { return try await work.valueForWaiter() }
      background.run("late \(hop.key)") { for try await _ in try await work.value.loaded.body {} }
      return late
    } catch let error where !(error is CancellationError) && !Task.isCancelled {
      if let answer = await fallback(hop, found, detail: "origin-failed") { return answer }
      throw error
    }
  }

  private func fallback(
    _ hop: Hop, _ found: [CachedResponse], detail: String
  ) async -> (loaded: Loaded, remaining: Int64)? {
    let answer = hop.behavior.answerAfterFailure(
      to: hop.request, among: found.map(\.stored), at: configuration.now(), policy: cache.policy,
      lifetime: hop.lifetime)
    guard let (stored, _) = answer else { return nil }
    return await serve(found, stored.id, to: hop, CacheStatus(.hit, detail: detail))
  }

  /// Asks on its own whether what was served is still valid; with the fields of the request that it was served to.
  /// RFC 5861 §3.
  func revalidate(_ hop: Hop, _ request: HTTPRequest, _ cached: CachedResponse?) {
    background.run("revalidate \(hop.key)") { [self] in
      guard reachability.admits(hop.url), (try? configuration.permission(hop.url)) != nil else { return }
      let validating = request == hop.request ? nil : cached
      let (loaded, _) = try await exchange(hop, request, validating: validating, .stale)
      for try await _ in loaded.body {}
    }
  }

  /// One answer of the origin, shared with whoever asks for the same meanwhile.
  private func exchange(
    _ hop: Hop, _ request: HTTPRequest, validating cached: CachedResponse?, _ reason: ForwardReason
  ) async throws -> (loaded: Loaded, remaining: Int64) {
    guard hop.request.method == .get else { return (try await passThrough(hop, request, reason), 0) }
    let key = FlightKey(key: hop.key, request: request)
    var isShared = true
    while true {
      if isShared, let incoming = state.withLock({ $0.incoming[key] }),
        let loaded = loaded(incoming, hop, reason, isCollapsed: true)
      {
        return (loaded, 0)
      }
      let isCollapsed = isShared && flights.passengers(of: key) > 0
      if isCollapsed { raise(key, to: hop.priority) }
      let outcome =
        isShared
        ? try await flights.value(for: key) { try await self.send(hop, request, validating: cached, key) }
        : try await send(hop, request, validating: cached, key)
      switch outcome {
      case .incoming(let incoming):
        if let loaded = loaded(incoming, hop, reason, isCollapsed: isCollapsed) { return (loaded, 0) }
      case .confirmed(let confirmed, let status, let generation):
        let cacheStatus = CacheStatus(
          .forwarded(reason), forwardStatus: status, isStored: true, isCollapsed: isCollapsed)
        if let answer = await serve(
          confirmed, to: hop, cacheStatus, source: .revalidated, generation: generation)
        {
          return answer
        }
        // The bytes went meanwhile: without them there is nothing to confirm.
        return try await exchange(hop, CachePolicy.unconditional(hop.request), validating: nil, .notStored)
      case .stale(let stale, let why, let status):
        let cacheStatus = CacheStatus(.hit, forwardStatus: status, detail: why == .ifError ? "stale-if-error" : nil)
        if let answer = await serve(stale, to: hop, cacheStatus) { return answer }
      case .single(let single):
        if let response = single.take() {
          return (loaded(response, hop, reason, generation: single.generation), 0)
        }
      }
      // It was for somebody else alone.
      isShared = false
    }
  }

  private func raise(_ key: FlightKey, to priority: LoadPriority) {
    if let number = state.withLock({ $0.waiting[key] }) { gate.raise(number, to: priority) }
  }

  private func loaded(
    _ incoming: IncomingResponse, _ hop: Hop, _ reason: ForwardReason, isCollapsed: Bool
  ) -> Loaded? {
    guard let body = incoming.body() else { return nil }
    let status = CacheStatus(.forwarded(reason), isStored: true, isCollapsed: isCollapsed)
    return loaded(incoming.head, body, hop, status, generation: incoming.generation, incoming: incoming)
  }

  private func loaded(
    _ response: TransportResponse, _ hop: Hop, _ reason: ForwardReason, generation: UInt64
  ) -> Loaded {
    loaded(response.head, response.body, hop, CacheStatus(.forwarded(reason)), generation: generation)
  }

  private func loaded(
    _ head: HTTPResponse, _ body: TransportBody, _ hop: Hop, _ status: CacheStatus, generation: UInt64,
    incoming: IncomingResponse? = nil
  ) -> Loaded {
    let body = LoadedBody(body, url: hop.url.text)
    return Loaded(
      url: hop.url, response: HTTPResponse(status: head.status, headerFields: status.added(to: head.headerFields)),
      body: decoded(body, of: head, hop), source: .network, age: 0, generation: generation, cacheStatus: status,
      incoming: incoming)
  }

  /// What is not answered from the cache: it may change what is stored. RFC 9111 §4.4.
  private func passThrough(_ hop: Hop, _ request: HTTPRequest, _ reason: ForwardReason) async throws -> Loaded {
    let generation = generations.begin(hop.key)
    defer { generations.end(hop.key) }
    let times = TimesTaker(configuration.now)
    let response = try await transmit(hop, request)
    let arrival = times.taken()
    if hop.method == .head, response.head.status == .ok {
      await freshen(hop, response.head, arrival)
    } else if cache.policy.invalidates(hop.method, response.head) {
      let targets = cache.policy.invalidatedReferences(response.head).compactMap { hop.url.resolving($0) }
      let urls = [hop.url] + targets.filter { $0.origin == hop.url.origin }
      let keys = urls.map {
        CacheKey(PageURL($0.text, ignoring: configuration.ignoredParameters) ?? $0, in: hop.key.partition)
      }
      generations.supersede(keys)
      await cache.invalidate(keys)
    }
    return loaded(
      await storingAnswerToGet(hop, request, response, arrival, generation), hop, reason, generation: generation)
  }

  /// RFC 9110 §9.3.3: a POST's answer that says it is what a GET would give is stored as that.
  private func storingAnswerToGet(
    _ hop: Hop, _ request: HTTPRequest, _ response: TransportResponse, _ times: ExchangeTimes, _ generation: UInt64
  ) async -> TransportResponse {
    guard hop.method == .post,
      case .store(let status, let fields) = cache.policy.storage(
        of: response.head, to: request, received: times.response),
      let writer = cache.writer()
    else { return response }
    let arrival = ResponseCache.Arrival(
      key: hop.key, request: request, status: status, fields: fields, times: times, extent: .whole(0))
    let incoming = IncomingResponse(response.head, generation: generation, spool: writer)
    incoming.start(response.body) { [cache] isWhole, writer in
      var arrival = arrival
      arrival.extent = .whole(writer.count)
      guard isWhole else {
        writer.discard()
        return nil
      }
      return await cache.commit(writer, arrival)
    }
    return incoming.body().map { TransportResponse(head: response.head, body: $0) } ?? response
  }

  /// A HEAD tells something of what is stored for GET. RFC 9111 §4.3.5.
  private func freshen(_ hop: Hop, _ head: HTTPResponse, _ times: ExchangeTimes) async {
    for cached in await cache.responses(for: hop.key, fields: hop.request.headerFields)
    where cached.stored.vary.matches(hop.request.headerFields) && cached.stored.status == 200 {
      if let fields = cache.policy.freshening(of: cached.stored, byHead: head, at: times.response) {
        _ = await cache.update(cached, fields: fields, times: times)
      } else {
        await cache.invalidate([hop.key])
      }
    }
  }
}

/// When a request went out and its answer's head came in.
struct TimesTaker: Sendable {
  private let now: @Sendable () -> HTTPDate
  private let sent: HTTPDate

  init(_ now: @escaping @Sendable () -> HTTPDate) {
    self.now = now
    sent = now()
  }

  func taken() -> ExchangeTimes { ExchangeTimes(request: sent, response: now()) }
}
