import HTTPCaching
import HTTPTransport
import HTTPTypes

/// Stores what comes from origins: decides what may be stored, takes the bytes in, and changes the cache in order.
final class ResponseRecorder: Sendable {
  private let cache: ResponseCache
  private let inFlight: InFlightRequests
  private let validator: ResponseValidator
  private let tasks: RunningTasks

  init(_ cache: ResponseCache, inFlight: InFlightRequests, validator: ResponseValidator, tasks: RunningTasks) {
    self.cache = cache
    self.inFlight = inFlight
    self.validator = validator
    self.tasks = tasks
  }

  // MARK: Responses that come in

  enum Storage {
    /// It is stored with these bytes.
    case into(PendingResponse, any ResponseWriting)
    /// It is not stored.
    ///
    /// - Parameter refusal: the rule that forbids it; `nil` if something else does.
    case nothing(because: StorageDecision.Refusal?)
  }

  /// Decides what is to be stored of a response, and opens a file for it.
  ///
  /// The client's request decides; the conditions that were added to revalidate do not matter for storing.
  func storage(of head: HTTPResponse, _ request: OutgoingRequest, _ times: ExchangeTimes) async -> Storage {
    let decision = decision(on: head, request, times)
    let isError = isStoredError(head, decision)
    let found = isError ? await cache.responses(for: request.key, fields: request.head.headerFields) : []
    return storage(of: head, request, times, decision, among: found)
  }

  /// The same without waiting; `nil` if the disk has to be asked what is stored.
  func storageAtOnce(of head: HTTPResponse, _ request: OutgoingRequest, _ times: ExchangeTimes) -> Storage? {
    let decision = decision(on: head, request, times)
    let isError = isStoredError(head, decision)
    let found = isError ? cache.responsesAtOnce(for: request.key, fields: request.head.headerFields) : []
    return found.map { storage(of: head, request, times, decision, among: $0) }
  }

  /// - Returns: `nil` for a request whose response is not to be stored.
  private func decision(
    on head: HTTPResponse, _ request: OutgoingRequest, _ times: ExchangeTimes
  ) -> StorageDecision? {
    guard request.isStored else { return nil }
    return request.storagePolicy.storage(of: head, to: request.head, received: times.response)
  }

  private func isStoredError(_ head: HTTPResponse, _ decision: StorageDecision?) -> Bool {
    if case .store = decision { head.status.code >= 400 } else { false }
  }

  /// - Parameter found: what is stored, if the response is an error that may be stored.
  private func storage(
    of head: HTTPResponse, _ request: OutgoingRequest, _ times: ExchangeTimes, _ decision: StorageDecision?,
    among found: [CachedResponse]
  ) -> Storage {
    // An error never takes the place of what can be used.
    if found.contains(where: { $0.stored.status < 400 && $0.stored.answers(request.head.headerFields) }) {
      return .nothing(because: nil)
    }
    let pending: PendingResponse
    switch decision {
    case nil: return .nothing(because: nil)
    case .refuse(let refusal): return .nothing(because: refusal)
    case .store(let status, let fields):
      let size = head.headerFields[.contentLength].flatMap { Int64($0) }
      pending = PendingResponse(request, status: status, fields: fields, times: times, shape: .whole(size: size))
    case .storePart(let range, let fields):
      let shape = PendingResponse.Shape.part(range.range, of: range.size)
      pending = PendingResponse(request, status: 200, fields: fields, times: times, shape: shape)
    }
    return cache.writer().map { .into(pending, $0) } ?? .nothing(because: nil)
  }

  /// The same for the response to a POST, which is stored for GET. RFC 9110 §9.3.3.
  func storageOfPost(
    _ head: HTTPResponse, to request: HTTPRequest, _ outgoing: OutgoingRequest, _ times: ExchangeTimes
  ) -> (PendingResponse, any ResponseWriting)? {
    guard outgoing.isStored,
      case .store(let status, let fields) = outgoing.storagePolicy.storage(
        of: head, to: request, received: times.response),
      let writer = cache.writer()
    else { return nil }
    return (PendingResponse(outgoing, status: status, fields: fields, times: times, shape: .whole(size: nil)), writer)
  }

  /// A part that was stored, to be gone on with; `nil` if its bytes have gone.
  func continuation(of part: CachedResponse) async -> (any ResponseWriting)? {
    guard let body = await cache.body(of: part), let spool = cache.writer() else { return nil }
    do {
      try spool.append(contentsOf: body, from: 0)
      return spool
    } catch {
      spool.discard()
      return nil
    }
  }

  /// Lets the bytes come in, for all who want them, and stores what there is in the end.
  ///
  /// - Parameters:
  ///   - key: under which others find it meanwhile; `nil` if nobody may.
  ///   - generation: was begun; it is ended here.
  /// - Returns: a place, without which the transfer is given up as soon as nobody reads it.
  func take(
    _ body: Body, _ head: HTTPResponse, _ pending: PendingResponse, _ spool: any ResponseWriting, _ key: FlightKey?,
    to request: HTTPRequest, _ generation: UInt64
  ) -> IncomingResponse.Place {
    let place = IncomingResponse.opened(head, to: request, generation: generation, pending: pending, spool: spool)
    let incoming = place.incoming
    inFlight.add(incoming, for: key)
    incoming.start(body, in: tasks) { [self] isWhole, spool in
      await commit(spool, pending, sent: isWhole ? head.headerFields : nil, generation)
    } landed: { [inFlight] in
      inFlight.remove(incoming, for: key)
      inFlight.end(pending.request.key)
    }
    return place
  }

  /// Stores what has come, unless a later request's response was there first.
  ///
  /// - Parameter sent: the fields of the response; `nil` if it was cut short.
  private func commit(
    _ spool: any ResponseWriting, _ pending: PendingResponse, sent: HTTPFields?, _ generation: UInt64
  ) async -> CachedResponse? {
    let isWhole = sent != nil
    // RFC 9111 §3.3: a beginning is of use only where the rest can be asked for.
    guard let arrival = pending.arrival(count: spool.count, isWhole: isWhole),
      isWhole || spool.count > 0 && Validators(of: arrival.fields).strongETag != nil
    else {
      spool.discard()
      return nil
    }
    guard validator.isIntact(arrival, spool, sent: sent) else {
      spool.discard()
      // The beginning it was made of is no better.
      if pending.isCompletion { await cache.removeParts(for: arrival.key, fields: arrival.request.headerFields) }
      return nil
    }
    return await inFlight.inTurn(arrival.key) { [self] in
      guard await validator.mayReplace(pending.request, arrival, spool),
        inFlight.claim(generation, for: arrival.key, tags: CacheTags.of(arrival.fields))
      else {
        spool.discard()
        return nil
      }
      return arrival.extent.isWhole ? await cache.commit(spool, arrival) : await cache.commitPart(spool, arrival)
    }
  }

  // MARK: Confirmations

  /// Stores that a stored response was confirmed. RFC 9111 §4.3.4.
  ///
  /// - Parameter request: the client's request, which the stored response answers from now on.
  func update(
    _ cached: CachedResponse, _ fields: HTTPFields, _ times: ExchangeTimes, _ generation: UInt64,
    for request: HTTPRequest
  ) async -> CachedResponse {
    let tags = cached.tags + CacheTags.of(fields)
    let vary = cached.stored.varyKey(confirmedBy: fields, for: request.headerFields)
    return await inFlight.inTurn(cached.key) { [cache, inFlight] in
      guard inFlight.claim(generation, for: cached.key, tags: tags) else {
        // Whoever asked gets the confirmation's fields; what was purged meanwhile stays purged.
        return cache.confirmed(cached, fields: fields, times: times, vary: vary)
      }
      return await cache.update(cached, fields: fields, times: times, vary: vary)
    }
  }

  /// A HEAD tells something of what is stored for GET. RFC 9111 §4.3.5.
  func freshen(_ request: OutgoingRequest, byHead head: HTTPResponse, _ times: ExchangeTimes, _ generation: UInt64)
    async
  {
    await inFlight.inTurn(request.key) { [cache, inFlight] in
      let found = await cache.responses(for: request.key, fields: request.head.headerFields).filter {
        $0.stored.vary.matches(request.head.headerFields) && $0.stored.status == 200
      }
      guard inFlight.claim(generation, for: request.key, tags: found.flatMap(\.tags)) else { return }
      for cached in found {
        if let fields = request.policy.freshening(of: cached.stored, byHead: head, at: times.response) {
          let vary = cached.stored.varyKey(confirmedBy: fields, for: request.head.headerFields)
          _ = await cache.update(cached, fields: fields, times: times, vary: vary)
        } else {
          await cache.invalidate([request.key])
        }
      }
    }
  }

  // MARK: Removing

  /// RFC 9111 §4.4.
  func invalidate(_ keys: [CacheKey]) async {
    inFlight.supersede(keys)
    // Behind what is being stored just now: that is older.
    for key in Set(keys) { await inFlight.inTurn(key) { [cache] in await cache.invalidate([key]) } }
  }

  /// RFC 9111 §5.2.2.5: a confirmation may forbid to keep what it confirms.
  func removeIfForbidden(_ confirmed: CachedResponse, _ request: OutgoingRequest) async {
    if !request.policy.mayBeKept(confirmed.stored) { await cache.remove(confirmed) }
  }
}
