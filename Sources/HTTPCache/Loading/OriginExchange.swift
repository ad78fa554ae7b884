import Containers
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Logging

/// Asks origins: one exchange for all who want the same, and what its response means for what is stored.
final class OriginExchange: Sendable {
  let sender: OriginSender
  let inFlight: InFlightRequests
  let recorder: ResponseRecorder
  let requests: RequestBuilder
  let resources: ResourceFactory
  let configuration: ResourceLoader.Configuration
  private let cache: ResponseCache
  let lookup: CacheLookup
  private let validator: ResponseValidator
  let gate: TransferGate
  private let uncacheable = UncacheableKeys()

  init(
    _ sender: OriginSender, gate: TransferGate, cache: ResponseCache, requests: RequestBuilder, lookup: CacheLookup,
    inFlight: InFlightRequests, validator: ResponseValidator, recorder: ResponseRecorder, resources: ResourceFactory,
    _ configuration: ResourceLoader.Configuration
  ) {
    (self.sender, self.gate, self.cache, self.requests, self.lookup) = (sender, gate, cache, requests, lookup)
    (self.inFlight, self.validator, self.recorder, self.resources) = (inFlight, validator, recorder, resources)
    self.configuration = configuration
  }

  /// One response of the origin, shared with whoever asks for the same meanwhile.
  ///
  /// - Parameters:
  ///   - request: as the cache's rules made it.
  ///   - cached: what it validates or completes, or what may answer if the server answers with an error.
  ///   - reason: why the cache does not answer.
  /// - Throws: ``LoadError``, ``TransportError``, what the origin's handler throws.
  func resource(
    for outgoing: OutgoingRequest, _ request: HTTPRequest, validating cached: CachedResponse?, _ reason: ForwardReason
  ) async throws -> Resource {
    // A request that is not stored and has its own target may differ from its key, so its response is not shared.
    let isShareable = outgoing.isStored || outgoing.target == nil
    guard outgoing.head.method == .get, outgoing.method != .get || !outgoing.hasBody, isShareable else {
      return try await passThrough(outgoing, request, validating: cached, reason)
    }
    let epoch = inFlight.epoch(of: outgoing.key)
    var sharing = ExchangeSharing(
      // One that was begun has its place at the gate, which no other may wait for meanwhile.
      isShared: outgoing.begun == nil && !passesOn(outgoing.key),
      by: varyNames(of: outgoing.key))
    var waited: [IncomingResponse] = []
    var seen: IncomingResponse?
    var gone: Set<Int64> = []
    while true {
      sharing.add(varyNames(of: outgoing.key))
      let key = FlightKey(outgoing, request, epoch: epoch, chosenBy: sharing.names)
      let exchange: @Sendable () async throws -> FetchResult = {
        try await self.result(of: outgoing, request, validating: cached, key)
      }
      var isCollapsed = false
      let result: FetchResult
      switch sharing.isShared ? inFlight.enter(key, after: waited, ignoring: seen) : nil {
      case nil:
        let begun = outgoing.begun?.take()
        result = if let begun { try begun.get() } else { try await exchange() }
      case .wait(let responses):
        waited += responses
        await inFlight.stored(responses)
        if let resource = await storedMeanwhile(outgoing, &gone) { return resource }
        continue
      case .read(let incoming):
        seen = incoming
        guard mayUse(incoming, for: outgoing, isCollapsed: true, &sharing) else { continue }
        if let resource = resources.incoming(incoming, for: outgoing, reason, isCollapsed: true) { return resource }
        // It was given up.
        continue
      case .share(let ticket) where ticket.isFirst:
        // Responses that were stored since the cache was looked at; whatever comes later joins this exchange.
        if lookup.foundMeanwhile(outgoing, without: gone) != nil {
          inFlight.abandon(ticket, of: outgoing.key)
          if let resource = await storedMeanwhile(outgoing, &gone) { return resource }
          continue
        }
        guard sharing.names.isSuperset(of: varyNames(of: outgoing.key)) else {
          inFlight.abandon(ticket, of: outgoing.key)
          continue
        }
        result = try await inFlight.result(of: ticket, for: outgoing.key, beginning: exchange)
      case .share(let ticket):
        isCollapsed = true
        if let number = inFlight.number(of: key) { gate.raise(number, to: outgoing.priority) }
        do {
          result = try await inFlight.result(of: ticket, alarm: alarm(for: key))
        } catch is OverdueExchange {
          sharing.goAlone()
          continue
        }
      }
      switch result {
      case .superseded: continue
      case .incoming(let place):
        defer { withExtendedLifetime(place) {} }
        guard mayUse(place.incoming, for: outgoing, isCollapsed: isCollapsed, &sharing) else { continue }
        if let resource = resources.incoming(place.incoming, for: outgoing, reason, isCollapsed: isCollapsed) {
          return resource
        }
      case .confirmed(let confirmed, let status, let generation):
        guard mayUse(confirmed.stored, for: outgoing, isCollapsed: isCollapsed, &sharing) else { continue }
        let cacheStatus = CacheStatus(
          .forwarded(reason), forwardStatus: status, isStored: true, isCollapsed: isCollapsed)
        let resource = await resources.stored(
          confirmed, for: outgoing, cacheStatus, source: .revalidated, generation: generation)
        await recorder.removeIfForbidden(confirmed, outgoing)
        if let resource { return resource }
        // The bytes went meanwhile: without them there is nothing to confirm.
        return try await self.resource(
          for: outgoing, CachePolicy.unconditional(outgoing.head), validating: nil, .notStored)
      case .stale(let stale, let why, let status):
        guard mayUse(stale.stored, for: outgoing, isCollapsed: false, &sharing) else { continue }
        let cacheStatus = CacheStatus(.hit, forwardStatus: status, detail: why == .ifError ? "stale-if-error" : nil)
        if outgoing.behavior.fallback != .never {
          if let resource = await resources.stored(stale, for: outgoing, cacheStatus) { return resource }
          return try await self.resource(
            for: outgoing, CachePolicy.unconditional(outgoing.head), validating: nil, .notStored)
        }
      case .single(let single):
        if let response = single.take(for: outgoing.head, isOurs: !isCollapsed) {
          return resources.unshared(
            response, for: outgoing, reason, generation: single.generation, detail: single.detail)
        }
      }
      // The response belongs to another request.
      sharing.goAlone()
    }
  }

  /// Returns `true` if a response that comes in may answer the request.
  private func mayUse(
    _ incoming: IncomingResponse, for request: OutgoingRequest, isCollapsed: Bool, _ sharing: inout ExchangeSharing
  ) -> Bool {
    let isChosen = incoming.request == request.head || incoming.vary?.matches(request.head.headerFields) == true
    // What a shared cache gives to several clients must be reusable: RFC 9111 §4.
    return sharing.mayUse(
      isChosen: isChosen, varyingBy: incoming.vary, isCollapsed: isCollapsed,
      isReusable: request.policy.mode != .shared
        || incoming.pending.mayAnswer(request, at: configuration.now()) && lookup.mayAnswer(incoming.pending.times))
  }

  /// Returns `true` if a stored response, as an exchange has left it, may answer the request.
  private func mayUse(
    _ stored: StoredResponse, for request: OutgoingRequest, isCollapsed: Bool, _ sharing: inout ExchangeSharing
  ) -> Bool {
    // The request's own exchange was made for what is stored.
    guard sharing.isShared else { return true }
    return sharing.mayUse(
      isChosen: stored.answers(request.head.headerFields), varyingBy: stored.vary, isCollapsed: isCollapsed,
      isReusable: lookup.mayAnswer(stored.times))
  }

  /// Returns when a request need not wait for an equal one any longer; `nil` if it waits for as long as that takes.
  private func alarm(for key: FlightKey) -> (@Sendable () async -> Void)? {
    guard let patience = configuration.sharingPatience else { return nil }
    return { [inFlight, gate] in
      // A request that waits for a place would only be the next in the same queue.
      func isWaiting() -> Bool { inFlight.number(of: key).map(gate.isWaiting) ?? false }
      var wasWaiting: Bool
      repeat {
        wasWaiting = isWaiting()
        try? await Task.sleep(for: patience)
      } while !Task.isCancelled && (wasWaiting || isWaiting())
    }
  }

  /// The names of the fields that the responses in memory vary by.
  func varyNames(of key: CacheKey) -> Set<String> {
    Set(cache.memory.variants(for: key).flatMap { $0.stored.vary.values.keys })
  }

  /// The resource of a response that was stored since the cache was looked at; `nil` if there is none, or its bytes have
  /// gone.
  private func storedMeanwhile(_ request: OutgoingRequest, _ gone: inout Set<Int64>) async -> Resource? {
    guard let found = lookup.foundMeanwhile(request, without: gone) else { return nil }
    gone.insert(found.id)
    return await resources.stored(found, for: request, CacheStatus(.hit))
  }

  /// The first response of an exchange that an event loop has begun.
  ///
  /// - Parameter generation: was begun; it is ended by whoever is given the response.
  typealias Brought = (response: TransportResponse, times: ExchangeTimes, generation: UInt64)

  /// One exchange: sends the request, and sees what the response means for what is stored.
  ///
  /// - Parameter brought: the response, if the request has been sent.
  func result(
    of outgoing: OutgoingRequest, _ request: HTTPRequest, validating cached: CachedResponse?, _ key: FlightKey,
    brought: Brought? = nil
  ) async throws -> FetchResult {
    let number = gate.number()
    inFlight.wait(key, by: number)
    // A handler's response and a confirmation by HEAD never enter the gate with this number.
    defer {
      gate.forget(number)
      inFlight.endWait(key, by: number)
    }
    var generation = brought?.generation ?? inFlight.begin(outgoing.key)
    var isHandedOn = false
    defer { if !isHandedOn { inFlight.end(outgoing.key) } }
    var (request, cached, brought) = (request, cached, brought)
    if let confirmed = try await confirmedByHead(outgoing, request, cached, generation) {
      return .confirmed(confirmed, status: 200, generation: generation)
    }
    while true {
      let (response, times): (TransportResponse, ExchangeTimes)
      if let came = brought {
        brought = nil
        (response, times) = (came.response, came.times)
      } else {
        let timer = ExchangeTimer(configuration.now)
        response = try await send(outgoing, request, number: number)
        times = timer.taken()
      }
      // What a handler answers is as new as its end.
      if outgoing.origin != nil {
        inFlight.end(outgoing.key)
        generation = inFlight.begin(outgoing.key)
      }
      if response.head.status == .notModified, !request.isConditional {
        throw TransportError.malformed(url: outgoing.url.text, reason: "it is a 304 to a request without a condition")
      }
      let decision = outgoing.policy.decision(
        on: response.head, to: request, for: outgoing.head, validating: cached?.stored, at: times.response,
        lifetime: outgoing.lifetime)
      switch decision {
      case .freshen(_, let fields):
        guard let confirmed = cached else {
          return .single(UnsharedResponse(response, to: outgoing.head, generation: generation))
        }
        if await validator.contradicts(response.head, confirmed) {
          request = CachePolicy.unconditional(outgoing.head)
          cached = nil
          continue
        }
        let updated = await recorder.update(confirmed, fields, times, generation, for: outgoing.head)
        return .confirmed(updated, status: 304, generation: generation)
      case .askAgain(let unconditional):
        request = unconditional
        cached = nil
      case .serveStale(let stored, let reason) where outgoing.behavior.fallback != .never && lookup.mayFallBack(stored):
        guard let cached else { return .single(UnsharedResponse(response, to: outgoing.head, generation: generation)) }
        return .stale(cached, reason, status: response.head.status.code)
      case .append(_, let fields, let total):
        guard let part = cached, let spool = await recorder.continuation(of: part) else {
          request = outgoing.head
          cached = nil
          continue
        }
        let head = HTTPResponse(status: .init(code: part.stored.status), headerFields: fields)
        let pending = PendingResponse(
          outgoing, status: part.stored.status, fields: fields, times: times, shape: .completed(size: total))
        isHandedOn = true
        return .incoming(recorder.take(response.body, head, pending, spool, key, to: outgoing.head, generation))
      case .use, .serveStale:
        let storage = await recorder.storage(of: response.head, outgoing, times)
        if case .into = storage {
          validator.recordConditions(of: request, response.head, validating: cached, outgoing)
          isHandedOn = true
        }
        return stored(by: storage, (response, times, generation), outgoing, key)
      }
    }
  }

  /// The result of a response that answers the request: it comes in to be stored, and ends its generation, or it answers
  /// one request alone.
  func stored(
    by storage: ResponseRecorder.Storage, _ brought: Brought, _ outgoing: OutgoingRequest, _ key: FlightKey
  ) -> FetchResult {
    let (response, times, generation) = brought
    note(storage, of: response.head, outgoing, times)
    switch storage {
    case .into(let pending, let spool):
      return .incoming(
        recorder.take(response.body, response.head, pending, spool, key, to: outgoing.head, generation))
    case .nothing(let refusal):
      let detail = refusal == .tags ? "tags" : nil
      return .single(UnsharedResponse(response, to: outgoing.head, generation: generation, detail: detail))
    }
  }

  /// Returns `true` if responses for a key were not to be stored lately: requests for it are not shared.
  func passesOn(_ key: CacheKey) -> Bool { uncacheable.contains(key, at: configuration.now()) }

  /// Notes whether responses for the key are stored, for the requests that come next. A server's error may be a passing
  /// one.
  private func note(
    _ storage: ResponseRecorder.Storage, of head: HTTPResponse, _ request: OutgoingRequest, _ times: ExchangeTimes
  ) {
    switch storage {
    case .into: uncacheable.remove(request.key)
    case .nothing(let refusal?) where refusal.isForAll && head.status.code < 500:
      if refusal == .tags, !uncacheable.contains(request.key, at: times.response) {
        configuration.logger.warning(
          "a response is not stored: \(refusal.rawValue)", metadata: ["key": "\(request.key)"])
      }
      uncacheable.insert(request.key, at: times.response)
    case .nothing: break
    }
  }

  /// Asks with a HEAD whether something large has to be fetched again, if the server is known to ignore conditions.
  ///
  /// - Returns: the stored response, brought up to date; `nil` if only a GET can tell.
  private func confirmedByHead(
    _ outgoing: OutgoingRequest, _ request: HTTPRequest, _ cached: CachedResponse?, _ generation: UInt64
  ) async throws -> CachedResponse? {
    guard let cached, validator.needsHead(outgoing, request, validating: cached) else { return nil }
    var head = outgoing
    head.method = .head
    head.body = []
    let timer = ExchangeTimer(configuration.now)
    let response = try await send(head, CachePolicy.unconditional(outgoing.head)).head
    let times = timer.taken()
    guard response.status == .ok, Validators(of: response.headerFields) == cached.stored.validators,
      let fields = outgoing.policy.freshening(of: cached.stored, byHead: response, at: times.response),
      await !validator.contradicts(response, cached)
    else { return nil }
    return await recorder.update(cached, fields, times, generation, for: outgoing.head)
  }

  /// Sends one request to the origin, or to the handler that answers in its place.
  ///
  /// - Parameter number: to wait by at the gate; `nil` for a new one.
  func send(_ outgoing: OutgoingRequest, _ request: HTTPRequest, number: UInt64? = nil) async throws
    -> TransportResponse
  {
    // A handler may ask others in turn: it takes up no place.
    if let origin = outgoing.origin {
      return try await origin.respond().transported(at: configuration.now().description)
    }
    do {
      return try await sender.send(
        transportRequest(outgoing, request), to: outgoing.url, number: number, priority: outgoing.priority)
    } catch let full as TransferGate.Full {
      throw LoadError.busy(outgoing.url, limit: full.limit)
    }
  }

  func transportRequest(_ outgoing: OutgoingRequest, _ request: HTTPRequest) -> TransportRequest {
    var limits = configuration.limits
    limits.bodyBytes = configuration.bodyLimit
    var sent = TransportRequest(outgoing.wireRequest(for: request), body: outgoing.body, limits: limits)
    sent.cookies = requests.cookies(of: outgoing.key.partition)
    sent.stream = outgoing.stream
    sent.informational = outgoing.informational
    sent.addsNothing = configuration.addsNothing
    return sent
  }
}

/// When a request went out and its response's head came in.
struct ExchangeTimer: Sendable {
  private let now: @Sendable () -> HTTPDate
  private let sent: HTTPDate

  init(_ now: @escaping @Sendable () -> HTTPDate) {
    self.now = now
    sent = now()
  }

  func taken() -> ExchangeTimes { ExchangeTimes(request: sent, response: now()) }
}
