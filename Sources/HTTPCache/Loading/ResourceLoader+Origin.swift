import HTTPCaching
import HTTPTransport
import HTTPTypes
import Synchronization

extension ResourceLoader {
  /// Sends one request, without a look at the cache, as soon as the gate lets it. Its place is taken until its body has
  /// ended, or nobody reads that any more.
  ///
  /// - Parameter number: to wait by; nil for a new one.
  func transmit(_ hop: OutgoingRequest, _ request: HTTPRequest, number: UInt64? = nil) async throws -> TransportResponse
  {
    // What answers here may ask others in turn: it takes up no place.
    if let origin = hop.origin { return try await origin.respond().transported(at: configuration.now().description) }
    var limits = configuration.limits
    limits.bodyBytes = configuration.bodyLimit
    var outgoing = TransportRequest(hop.outgoing(request), body: hop.body, limits: limits)
    outgoing.cookies = cookies(of: hop.key.partition)
    outgoing.stream = hop.stream
    outgoing.informational = hop.informational
    outgoing.addsNothing = configuration.addsNothing
    let pass: TransferGate.Pass
    do { pass = try await gate.enter(number ?? gate.number(), priority: hop.priority) } catch let full
      as TransferGate.Full
    {
      throw LoadError.busy(hop.url, limit: full.limit)
    }
    do {
      let response = try await transport.send(outgoing)
      reachability.recordSuccess(hop.url)
      return TransportResponse(head: response.head, body: pass.held(by: response.body), version: response.version)
    } catch {
      reachability.record(error, for: hop.url)
      throw error
    }
  }

  /// One flight: sends the request and sees what the answer means for what is stored.
  func send(_ hop: OutgoingRequest, _ request: HTTPRequest, validating cached: CachedResponse?, _ key: FlightKey)
    async throws
    -> FetchResult
  {
    let number = gate.number()
    state.withLock { $0.waiting[key] = number }
    // What answers here, and what a HEAD confirms, never enters with it.
    defer {
      gate.forget(number)
      state.withLock { state in
        if state.waiting[key] == number { state.waiting[key] = nil }
      }
    }
    var generation = generations.begin(hop.key)
    var isHandedOn = false
    defer { if !isHandedOn { generations.end(hop.key) } }
    var (request, cached) = (request, cached)
    if let confirmed = try await confirmedByHead(hop, request, cached, generation) {
      return .confirmed(confirmed, status: 200, generation: generation)
    }
    while true {
      let taker = ExchangeTimer(configuration.now)
      let response = try await transmit(hop, request, number: number)
      let times = taker.taken()
      // The answer of what answers here is as new as its end.
      if hop.origin != nil {
        generations.end(hop.key)
        generation = generations.begin(hop.key)
      }
      if response.head.status == .notModified, !Self.isConditional(request) {
        throw TransportError.malformed(url: hop.url.text, reason: "it is a 304 to a request without a condition")
      }
      let decision = policy(hop).decision(
        on: response.head, to: request, for: hop.request, validating: cached?.stored, at: times.response,
        lifetime: hop.lifetime)
      switch decision {
      case .freshen(_, let fields):
        guard let confirmed = cached else {
          return .single(UnsharedResponse(response, to: hop.request, generation: generation))
        }
        if await contradicts(response.head, confirmed) {
          request = CachePolicy.unconditional(hop.request)
          cached = nil
          continue
        }
        let updated = await update(confirmed, fields, times, generation, for: hop.request)
        return .confirmed(updated, status: 304, generation: generation)
      case .askAgain(let unconditional):
        request = unconditional
        cached = nil
      case .serveStale(_, let reason) where hop.behavior.fallback != .never:
        guard let cached else { return .single(UnsharedResponse(response, to: hop.request, generation: generation)) }
        return .stale(cached, reason, status: response.head.status.code)
      case .append(_, let fields, let total):
        guard let part = cached, let spool = await continued(part) else {
          request = hop.request
          cached = nil
          continue
        }
        let head = HTTPResponse(status: .init(code: part.stored.status), headerFields: fields)
        let pending = PendingResponse(
          hop, status: part.stored.status, fields: fields, times: times, shape: .completed(size: total))
        isHandedOn = true
        return .incoming(take(response.body, head, pending, spool, key, generation))
      case .use, .serveStale:
        guard let (pending, spool) = await storage(of: response.head, hop, times) else {
          return .single(UnsharedResponse(response, to: hop.request, generation: generation))
        }
        noteWhetherConditionsCount(response.head, request, cached, hop)
        isHandedOn = true
        return .incoming(take(response.body, response.head, pending, spool, key, generation))
      }
    }
  }

  /// What is to be stored of an answer, and where; nil for nothing.
  private func storage(
    of head: HTTPResponse, _ hop: OutgoingRequest, _ times: ExchangeTimes
  ) async -> (PendingResponse, any ResponseWriting)? {
    guard hop.isStored else { return nil }
    // The client's own request counts: what was added to it to revalidate says nothing of storing.
    let decision = storagePolicy(hop).storage(of: head, to: hop.request, received: times.response)
    let pending: PendingResponse
    switch decision {
    case .refuse: return nil
    case .store(let status, let fields):
      if head.status.code >= 400, await hasGoodAnswer(hop) { return nil }
      let size = head.headerFields[.contentLength].flatMap { Int64($0) }
      pending = PendingResponse(hop, status: status, fields: fields, times: times, shape: .whole(size: size))
    case .storePart(let range, let fields):
      let shape = PendingResponse.Shape.part(range.range, of: range.size)
      pending = PendingResponse(hop, status: 200, fields: fields, times: times, shape: shape)
    }
    return cache.writer().map { (pending, $0) }
  }

  /// How an answer is stored. What belongs to everybody is kept by the rules of shared caches, whatever the cache is
  /// otherwise.
  func storagePolicy(_ hop: OutgoingRequest) -> CachePolicy {
    var policy = hop.key.partition.isShared ? CachePolicy(mode: .shared, targets: cache.policy.targets) : cache.policy
    policy.sharesCookies = hop.sharesCookies
    return policy
  }

  /// How what is stored is used and brought up to date.
  func policy(_ hop: OutgoingRequest) -> CachePolicy {
    var policy = cache.policy
    policy.sharesCookies = hop.sharesCookies
    return policy
  }

  static func isConditional(_ request: HTTPRequest) -> Bool {
    [HTTPField.Name.ifNoneMatch, .ifModifiedSince].contains { request.headerFields.contains($0) }
  }

  /// An error never takes the place of what can be used.
  private func hasGoodAnswer(_ hop: OutgoingRequest) async -> Bool {
    await cache.responses(for: hop.key, fields: hop.request.headerFields).contains {
      $0.stored.status < 400 && $0.stored.answers(hop.request.headerFields)
    }
  }

  /// Lets the bytes come in, for all who want them, and stores what there is in the end.
  private func take(
    _ body: Body, _ head: HTTPResponse, _ pending: PendingResponse, _ spool: any ResponseWriting,
    _ key: FlightKey, _ generation: UInt64
  ) -> IncomingResponse {
    let incoming = IncomingResponse(head, to: pending.hop.request, generation: generation, spool: spool)
    state.withLock { $0.incoming[key] = incoming }
    incoming.start(body, in: tasks) { [self] isWhole, spool in
      await commit(spool, pending, isWhole: isWhole, generation)
    } landed: { [self] in
      state.withLock { state in
        if state.incoming[key] === incoming { state.incoming[key] = nil }
      }
      generations.end(key.key)
    }
    return incoming
  }

  /// Stores what has come, unless an answer to a later request was there first.
  func commit(
    _ spool: any ResponseWriting, _ pending: PendingResponse, isWhole: Bool, _ generation: UInt64
  ) async -> CachedResponse? {
    // RFC 9111 §3.3: a beginning is of use only where the rest can be asked for.
    guard let arrival = pending.arrival(count: spool.count, isWhole: isWhole),
      isWhole || spool.count > 0 && Validators(of: arrival.fields).strongETag != nil
    else {
      spool.discard()
      return nil
    }
    guard isAsPromised(arrival, spool), isDecodable(arrival, spool) else {
      spool.discard()
      // The beginning it was made of is no better.
      if pending.isCompletion { await cache.removeParts(for: arrival.key, fields: arrival.request.headerFields) }
      return nil
    }
    return await turns.run(arrival.key) { [self] in
      guard await mayReplace(pending.hop, arrival, spool),
        generations.claim(generation, for: arrival.key, tags: CacheTags.of(arrival.fields))
      else {
        spool.discard()
        return nil
      }
      return arrival.extent.isWhole ? await cache.commit(spool, arrival) : await cache.commitPart(spool, arrival)
    }
  }

  /// The stored bytes were confirmed.
  ///
  /// - Parameter request: what they were confirmed for; from now on they are for who asks so, too.
  func update(
    _ cached: CachedResponse, _ fields: HTTPFields, _ times: ExchangeTimes, _ generation: UInt64,
    for request: HTTPRequest? = nil
  ) async -> CachedResponse {
    let tags = cached.tags + CacheTags.of(fields)
    let vary = request.flatMap { request in
      cached.stored.answers(request.headerFields) ? nil : VaryKey(vary: fields, request: request.headerFields)
    }
    return await turns.run(cached.entry.key) { [self] in
      guard generations.claim(generation, for: cached.entry.key, tags: tags) else {
        // RFC 9111 §4.3.4: whoever asked gets the confirmation's fields; what was purged meanwhile stays purged.
        return cache.confirmed(cached, fields: fields, times: times, vary: vary)
      }
      return await cache.update(cached, fields: fields, times: times, vary: vary)
    }
  }

  /// A part that was stored, to be gone on with.
  private func continued(_ cached: CachedResponse) async -> (any ResponseWriting)? {
    guard let body = await cache.body(of: cached), let spool = cache.writer() else { return nil }
    do {
      try spool.append(contentsOf: body, from: 0)
      return spool
    } catch {
      spool.discard()
      return nil
    }
  }
}
