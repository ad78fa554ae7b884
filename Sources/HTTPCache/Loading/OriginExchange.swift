import Containers
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Logging
import Synchronization

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
  private let gate: TransferGate
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
      isShared: outgoing.begun == nil && !uncacheable.contains(outgoing.key, at: configuration.now()),
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
      case nil: result = try await exchange()
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
  private func varyNames(of key: CacheKey) -> Set<String> {
    Set(cache.memory.variants(for: key).flatMap { $0.stored.vary.values.keys })
  }

  /// The resource of a response that was stored since the cache was looked at; `nil` if there is none, or its bytes have
  /// gone.
  private func storedMeanwhile(_ request: OutgoingRequest, _ gone: inout Set<Int64>) async -> Resource? {
    guard let found = lookup.foundMeanwhile(request, without: gone) else { return nil }
    gone.insert(found.entry.id)
    return await resources.stored(found, for: request, CacheStatus(.hit))
  }

  /// One exchange: sends the request, and sees what the response means for what is stored.
  private func result(
    of outgoing: OutgoingRequest, _ request: HTTPRequest, validating cached: CachedResponse?, _ key: FlightKey
  ) async throws -> FetchResult {
    let number = gate.number()
    inFlight.wait(key, by: number)
    // A handler's response and a confirmation by HEAD never enter the gate with this number.
    defer {
      gate.forget(number)
      inFlight.endWait(key, by: number)
    }
    var begun = outgoing.begun?.take(for: request, of: outgoing.key, in: inFlight)
    // Who asks after a change must not share what was asked for before it.
    let sharedKey = begun?.isCurrent == false ? nil : key
    var generation = begun?.generation ?? inFlight.begin(outgoing.key)
    var isHandedOn = false
    defer { if !isHandedOn { inFlight.end(outgoing.key) } }
    var (request, cached) = (request, cached)
    if begun == nil,
      let confirmed = try await confirmedByHead(outgoing, request, cached, generation)
    {
      return .confirmed(confirmed, status: 200, generation: generation)
    }
    while true {
      let (response, times): (TransportResponse, ExchangeTimes)
      if let came = begun {
        begun = nil
        (response, times) = (try came.result.get(), came.times)
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
        return .incoming(recorder.take(response.body, head, pending, spool, sharedKey, to: outgoing.head, generation))
      case .use, .serveStale:
        let storage = await recorder.storage(of: response.head, outgoing, times)
        note(storage, of: response.head, outgoing, times)
        guard case .into(let pending, let spool) = storage else {
          let detail = if case .nothing(because: .tags) = storage { "tags" } else { nil as String? }
          return .single(UnsharedResponse(response, to: outgoing.head, generation: generation, detail: detail))
        }
        validator.recordConditions(of: request, response.head, validating: cached, outgoing)
        isHandedOn = true
        return .incoming(
          recorder.take(response.body, response.head, pending, spool, sharedKey, to: outgoing.head, generation))
      }
    }
  }

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
  /// - Returns: what is stored, brought up to date; `nil` if only a GET can tell.
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

  private func transportRequest(_ outgoing: OutgoingRequest, _ request: HTTPRequest) -> TransportRequest {
    var limits = configuration.limits
    limits.bodyBytes = configuration.bodyLimit
    var sent = TransportRequest(outgoing.wireRequest(for: request), body: outgoing.body, limits: limits)
    sent.cookies = requests.cookies(of: outgoing.key.partition)
    sent.stream = outgoing.stream
    sent.informational = outgoing.informational
    sent.addsNothing = configuration.addsNothing
    return sent
  }

  // MARK: Without a task

  /// Returns `true` if responses for a key were not to be stored lately: requests for it are not shared.
  func passesOn(_ key: CacheKey) -> Bool { uncacheable.contains(key, at: configuration.now()) }

  /// Asks the origin as ``resource(for:_:validating:_:)`` does, without a task, if the response would not be shared.
  ///
  /// - Parameter calls: is called once, if the origin may be asked.
  /// - Returns: cancels the request until there is a response; `nil` if a task is needed, so that nothing was done.
  func begin(
    _ outgoing: OutgoingRequest, _ request: HTTPRequest, _ reason: ForwardReason, on loop: @escaping EventLoopCall,
    _ calls: () -> BegunCalls
  ) -> (@Sendable () -> Void)? {
    guard outgoing.method == .get, outgoing.head.method == .get, outgoing.isStored, !outgoing.hasBody,
      outgoing.origin == nil,
      passesOn(outgoing.key)
    else { return nil }
    var outgoing = outgoing
    let receive: @Sendable (BegunResponse) -> Void
    (outgoing.informational, receive) = calls()
    let begun = BegunExchange(outgoing.key, request, in: inFlight, at: configuration.now())
    return sender.begin(
      transportRequest(outgoing, request), to: outgoing.url, priority: outgoing.priority, on: loop
    ) { [self, outgoing] result in
      receive(arrived(result, of: begun, for: outgoing, request, reason))
    }
  }

  private func arrived(
    _ result: Result<TransportResponse, any Error>, of begun: BegunExchange, for outgoing: OutgoingRequest,
    _ request: HTTPRequest, _ reason: ForwardReason
  ) -> BegunResponse {
    let times = begun.times(endingAt: configuration.now())
    guard case .success(let response) = result, mayPassOn(response, to: request),
      case .use = outgoing.policy.decision(
        on: response.head, to: request, for: outgoing.head, validating: nil, at: times.response,
        lifetime: outgoing.lifetime),
      case .refuse(let refusal) = outgoing.storagePolicy.storage(
        of: response.head, to: outgoing.head, received: times.response)
    else {
      begun.finish(
        result.mapError { error in
          (error as? TransferGate.Full).map { LoadError.busy(outgoing.url, limit: $0.limit) } ?? error
        }, times)
      return .unfinished(begun)
    }
    note(.nothing(because: refusal), of: response.head, outgoing, times)
    return .resource(
      resources.unshared(
        response, for: outgoing, reason, generation: begun.generation, detail: refusal == .tags ? "tags" : nil))
  }

  /// Returns `false` for a response that something else than passing it on may have to be done for.
  private func mayPassOn(_ response: TransportResponse, to request: HTTPRequest) -> Bool {
    response.head.status.code < 500 && (response.head.status != .notModified || request.isConditional)
      && (response.body.bytesInMemory != nil || response.body.callbacks != nil)
  }
}

/// The functions of a request that was begun without a task: the first is called with its interim heads, from any thread,
/// the second once with its next step, on the event loop.
package typealias BegunCalls = (
  informational: (@Sendable (HTTPResponse) -> Void)?, receive: @Sendable (BegunResponse) -> Void
)

/// The next step of a request that was begun without a task.
package enum BegunResponse: Sendable {
  /// The origin's response.
  case resource(Resource)
  /// Only a task can do the rest: ``ResourceLoader/response(for:)`` goes on with the exchange, which is handed to it in
  /// ``ResourceRequest/begun``.
  case unfinished(BegunExchange)
}

/// An exchange that was begun without a task, with the response or the error that it has brought.
package final class BegunExchange: Sendable {
  /// The order of the request among all others.
  let generation: UInt64
  private let key: CacheKey
  private let request: HTTPRequest
  private let inFlight: InFlightRequests
  private let epoch: UInt64
  private let sent: HTTPDate
  private let state = Mutex<(result: Result<TransportResponse, any Error>, times: ExchangeTimes)?>(nil)
  private let isTaken = Atomic(false)

  fileprivate init(_ key: CacheKey, _ request: HTTPRequest, in inFlight: InFlightRequests, at now: HTTPDate) {
    (self.key, self.request, self.inFlight, sent) = (key, request, inFlight, now)
    epoch = inFlight.epoch(of: key)
    generation = inFlight.begin(key)
  }

  deinit { if !isTaken.load(ordering: .relaxed) { inFlight.end(key) } }

  fileprivate func times(endingAt now: HTTPDate) -> ExchangeTimes { ExchangeTimes(request: sent, response: now) }

  /// - Parameter result: counts as nothing if the request was not sent.
  fileprivate func finish(_ result: Result<TransportResponse, any Error>, _ times: ExchangeTimes) {
    if case .failure(let error) = result, error is OriginSender.NotBegun { return }
    state.withLock { $0 = (result, times) }
  }

  /// Returns `true` if ``take(for:of:in:)`` takes it over for a request.
  fileprivate func isUsable(for request: HTTPRequest, of key: CacheKey, in inFlight: InFlightRequests) -> Bool {
    inFlight === self.inFlight && key == self.key && request == self.request && state.withLock { $0 != nil }
  }

  /// Lets go of what it has brought, with its place at the gate.
  fileprivate func letGo() {
    let brought = state.withLock { state in
      defer { state = nil }
      return state
    }
    withExtendedLifetime(brought) {}
  }

  /// Takes over the exchange for an equal request, if it has brought something. Its generation is ended by whoever has
  /// taken it over.
  ///
  /// - Returns: also whether the resource is unchanged since. If it was changed the response still answers the client
  ///   that asked for it; its generation keeps it from being stored, and later requests must not share it.
  fileprivate func take(
    for request: HTTPRequest, of key: CacheKey, in inFlight: InFlightRequests
  ) -> (generation: UInt64, isCurrent: Bool, result: Result<TransportResponse, any Error>, times: ExchangeTimes)? {
    // What is not taken over is let go of, with its place at the gate.
    let state = state.withLock { state in
      defer { state = nil }
      return state
    }
    guard let (result, times) = state, inFlight === self.inFlight, key == self.key, request == self.request else {
      return nil
    }
    isTaken.store(true, ordering: .relaxed)
    return (generation, inFlight.epoch(of: key) == epoch, result, times)
  }
}

extension OutgoingRequest {
  /// The request without an exchange that was begun, if that is of no use for it: nothing was sent, or something else.
  /// It is then sent, shared and refused like any other.
  func keepingBegun(for request: HTTPRequest, in inFlight: InFlightRequests) -> OutgoingRequest {
    guard let begun, !begun.isUsable(for: request, of: key, in: inFlight) else { return self }
    begun.letGo()
    var other = self
    other.begun = nil
    return other
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
