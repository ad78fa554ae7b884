import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Synchronization

extension ResourceLoader {
  /// Asks the origin, and turns to what is stored where the behaviour allows that after a failure.
  ///
  /// - Parameter cached: what the request validates or completes, or what may answer if the server answers with an
  ///   error.
  func ask(
    _ hop: OutgoingRequest, _ request: HTTPRequest, validating cached: CachedResponse?, _ found: [CachedResponse],
    _ reason: ForwardReason
  ) async throws -> (loaded: Resource, remaining: Int64) {
    if hop.origin == nil { try configuration.permission(hop.url) }
    // Whoever insists on the network gets a try at it.
    let mayGo =
      [.reloading, .reloadingPastAllCaches].contains(hop.behavior.network)
      ? reachability.setting != .offline : reachability.admits(hop.url)
    guard mayGo || hop.origin != nil else {
      if let answer = await fallback(hop, found, detail: "offline") { return answer }
      throw failure(LoadError.offline(hop.url), hop, found)
    }
    do {
      guard let patience = hop.behavior.patience else {
        return try await answer(of: hop, request, validating: cached, found, reason)
      }
      // What takes too long goes on, for the next time.
      let work = tasks.start { [self] in try await answer(of: hop, request, validating: cached, found, reason) }
      return try await withTaskCancellationHandler {
        if let answer = try await within(patience, { try await work.valueForWaiter() }) { return answer }
        guard let late = await fallback(hop, found, detail: "timeout") else { return try await work.valueForWaiter() }
        background.run(.late(UUID())) { [self] in try await takeIn(work.value.loaded) }
        return late
      } onCancel: {
        work.cancel()
      }
    } catch let error where !(error is CancellationError) && !Task.isCancelled {
      if let answer = await fallback(hop, found, detail: "origin-failed") { return answer }
      throw failure(error, hop, found)
    }
  }

  /// The error that the caller gets where nothing stored could answer.
  private func failure(_ error: any Error, _ hop: OutgoingRequest, _ found: [CachedResponse]) -> any Error {
    var isAway = Reachability.meansAway(error)
    if case LoadError.offline = error { isAway = true }
    let policy = policy(hop)
    guard isAway, [.get, .head].contains(hop.request.method),
      let stored = policy.anyAnswer(to: hop.request, among: found.map(\.stored)), policy.mustBeRevalidated(stored)
    else { return error }
    return LoadError.unvalidated(hop.url, because: error)
  }

  /// The origin's answer; what is stored where that is an error of the server's, and the behaviour allows it.
  private func answer(
    of hop: OutgoingRequest, _ request: HTTPRequest, validating cached: CachedResponse?, _ found: [CachedResponse],
    _ reason: ForwardReason
  ) async throws -> (loaded: Resource, remaining: Int64) {
    let answer = try await exchange(hop, request, validating: cached, reason)
    guard hop.behavior.fallsBackOnServerErrors, answer.loaded.status >= 500, answer.loaded.source == .network,
      let stored = await fallback(hop, found, detail: "server-error")
    else { return answer }
    return stored
  }

  private func fallback(
    _ hop: OutgoingRequest, _ found: [CachedResponse], detail: String
  ) async -> (loaded: Resource, remaining: Int64)? {
    let answer = hop.behavior.answerAfterFailure(
      to: hop.request, among: found.map(\.stored), at: configuration.now(), policy: policy(hop),
      lifetime: hop.lifetime)
    if let (stored, _) = answer { return await serve(found, stored.id, to: hop, CacheStatus(.hit, detail: detail)) }
    guard hop.method == .get, hop.behavior.fallback != .never, hop.snapshot == nil,
      let file = try? await releaseFile(at: hop.url, in: nil, mayFetch: false)
    else { return nil }
    return (file, 0)
  }

  /// Asks on its own whether what was served is still valid; with the fields of the request that it was served to.
  /// RFC 5861 §3.
  func revalidate(_ hop: OutgoingRequest, _ request: HTTPRequest, _ cached: CachedResponse?) {
    background.run(.revalidation(FlightKey(hop, request))) { [self] in
      let mayGo = reachability.admits(hop.url) && (try? configuration.permission(hop.url)) != nil
      guard mayGo || hop.origin != nil else { return }
      let validating = request == hop.request ? nil : cached
      let (loaded, _) = try await exchange(hop, request, validating: validating, .stale)
      try await takeIn(loaded)
    }
  }

  /// One answer of the origin, shared with whoever asks for the same meanwhile.
  private func exchange(
    _ hop: OutgoingRequest, _ request: HTTPRequest, validating cached: CachedResponse?, _ reason: ForwardReason
  ) async throws -> (loaded: Resource, remaining: Int64) {
    // What is sent in other words than it is looked up by is for nobody else.
    let isShareable = hop.isStored || hop.target == nil
    guard hop.request.method == .get, hop.method != .get || !hop.hasBody, isShareable else {
      return try await passThrough(hop, request, validating: cached, reason)
    }
    let epoch = generations.epoch(of: hop.key)
    var isShared = true
    // An answer that others have asked for may have been chosen by what is otherwise in this request: those who have
    // that in common share the next.
    var names = Set(cache.memory.variants(for: hop.key).flatMap { $0.stored.vary.values.keys })
    var key = FlightKey(hop, request, epoch: epoch, chosenBy: names)
    func isForUs(_ isOurs: Bool, _ vary: VaryKey?) -> Bool {
      if isOurs { return true }
      let more = names.union(vary?.values.keys.map(\.self) ?? [])
      isShared = more.count > names.count
      names = more
      key = FlightKey(hop, request, epoch: epoch, chosenBy: names)
      return false
    }
    func isForUs(_ incoming: IncomingResponse) -> Bool {
      let fields = hop.request.headerFields
      return isForUs(incoming.request == hop.request || incoming.vary?.matches(fields) == true, incoming.vary)
    }
    func isForUs(_ stored: StoredResponse) -> Bool {
      isForUs(stored.answers(hop.request.headerFields), stored.vary)
    }
    while true {
      if isShared, let incoming = state.withLock({ $0.incoming[key] }) {
        guard isForUs(incoming) else { continue }
        if let loaded = loaded(incoming, hop, reason, isCollapsed: true) { return (loaded, 0) }
      }
      if isShared, let answer = await storedMeanwhile(hop) { return answer }
      let isCollapsed = isShared && flights.passengers(of: key) > 0
      if isCollapsed { raise(key, to: hop.priority) }
      let outcome =
        isShared
        ? try await flights.value(for: key) { [key] in
          try await self.send(hop, request, validating: cached, key)
        }
        : try await send(hop, request, validating: cached, key)
      switch outcome {
      case .incoming(let incoming):
        guard isForUs(incoming) else { continue }
        if let loaded = loaded(incoming, hop, reason, isCollapsed: isCollapsed) { return (loaded, 0) }
      case .confirmed(let confirmed, let status, let generation):
        guard !isShared || isForUs(confirmed.stored) else { continue }
        let cacheStatus = CacheStatus(
          .forwarded(reason), forwardStatus: status, isStored: true, isCollapsed: isCollapsed)
        let answer = await serve(confirmed, to: hop, cacheStatus, source: .revalidated, generation: generation)
        // RFC 9111 §5.2.2.5: the confirmation may forbid to keep what it confirms.
        if !policy(hop).mayBeKept(confirmed.stored) { await cache.remove(confirmed) }
        if let answer { return answer }
        // The bytes went meanwhile: without them there is nothing to confirm.
        return try await exchange(hop, CachePolicy.unconditional(hop.request), validating: nil, .notStored)
      case .stale(let stale, let why, let status):
        guard !isShared || isForUs(stale.stored) else { continue }
        let cacheStatus = CacheStatus(.hit, forwardStatus: status, detail: why == .ifError ? "stale-if-error" : nil)
        if hop.behavior.fallback != .never {
          if let answer = await serve(stale, to: hop, cacheStatus) { return answer }
          return try await exchange(hop, CachePolicy.unconditional(hop.request), validating: nil, .notStored)
        }
      case .single(let single):
        if let response = single.take(for: hop.request) {
          return (loaded(response, hop, reason, generation: single.generation), 0)
        }
      }
      // It was for somebody else alone.
      isShared = false
    }
  }

  /// What has come for others since the cache was looked at, and was stored: it is in memory.
  private func storedMeanwhile(_ hop: OutgoingRequest) async -> (loaded: Resource, remaining: Int64)? {
    guard hop.origin == nil, let found = cache.responseInMemory(for: hop.key, fields: hop.request.headerFields) else {
      return nil
    }
    let decision = hop.behavior.decision(
      for: hop.request, among: [found.stored], at: configuration.now(), policy: policy(hop), lifetime: hop.lifetime,
      isOnline: true)
    guard case .serve = decision else { return nil }
    return await serve(found, to: hop, CacheStatus(.hit))
  }

  private func raise(_ key: FlightKey, to priority: LoadPriority) {
    if let number = state.withLock({ $0.waiting[key] }) { gate.raise(number, to: priority) }
  }

  private func loaded(
    _ incoming: IncomingResponse, _ hop: OutgoingRequest, _ reason: ForwardReason, isCollapsed: Bool
  ) -> Resource? {
    guard let body = incoming.body() else { return nil }
    let status = CacheStatus(.forwarded(reason), isStored: true, isCollapsed: isCollapsed)
    return loaded(incoming.head, body, hop, status, generation: incoming.generation, incoming: incoming)
  }

  func loaded(
    _ response: TransportResponse, _ hop: OutgoingRequest, _ reason: ForwardReason, generation: UInt64
  ) -> Resource {
    loaded(response.head, response.body, hop, CacheStatus(.forwarded(reason)), generation: generation)
  }

  private func loaded(
    _ head: HTTPResponse, _ body: Body, _ hop: OutgoingRequest, _ status: CacheStatus, generation: UInt64,
    incoming: IncomingResponse? = nil
  ) -> Resource {
    var body = body
    body.url = hop.url.text
    let now = configuration.now()
    let age = Age(of: head.headerFields, times: ExchangeTimes(request: now, response: now)).initial
    return Resource(
      url: hop.url, response: HTTPResponse(status: head.status, headerFields: status.added(to: head.headerFields)),
      body: decoded(body, of: head, hop), source: .network, age: age, generation: generation, cacheStatus: status,
      incoming: incoming)
  }
}

/// When a request went out and its answer's head came in.
struct ExchangeTimer: Sendable {
  private let now: @Sendable () -> HTTPDate
  private let sent: HTTPDate

  init(_ now: @escaping @Sendable () -> HTTPDate) {
    self.now = now
    sent = now()
  }

  func taken() -> ExchangeTimes { ExchangeTimes(request: sent, response: now()) }
}
