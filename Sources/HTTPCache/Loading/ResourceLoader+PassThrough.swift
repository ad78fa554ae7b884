import HTTPCaching
import HTTPTransport
import HTTPTypes

/// What is not answered from the cache: it may change what is stored. RFC 9111 §4.4.
extension ResourceLoader {
  ///
  /// - Parameter cached: what may answer a HEAD where the server answers with an error.
  func passThrough(
    _ hop: OutgoingRequest, _ request: HTTPRequest, validating cached: CachedResponse?, _ reason: ForwardReason
  ) async throws -> (loaded: Resource, remaining: Int64) {
    let generation = generations.begin(hop.key)
    defer { generations.end(hop.key) }
    var request = request
    if hop.method == .head {
      // A 304 would tell nothing to who has not asked for one.
      for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince] {
        request.headerFields[name] = hop.request.headerFields[name]
      }
    }
    let times = ExchangeTimer(configuration.now)
    let response = try await transmit(hop, request)
    let arrival = times.taken()
    if hop.method == .head, let cached,
      let answer = await staleAnswer(to: hop, request, response.head, cached, arrival)
    {
      return answer
    }
    var answer = response
    if hop.method == .head, response.head.status == .ok {
      await freshen(hop, response.head, arrival, generation)
    } else if cache.policy.invalidates(hop.method, response.head) {
      await invalidate(targets(of: response.head, hop))
      answer = await storingAnswerToGet(hop, request, response, arrival)
    }
    return (loaded(answer, hop, reason, generation: generation), 0)
  }

  /// Returns what is stored, if the server answers a HEAD with an error that it may stand for. RFC 5861 §4.
  private func staleAnswer(
    to hop: OutgoingRequest, _ request: HTTPRequest, _ head: HTTPResponse, _ cached: CachedResponse,
    _ times: ExchangeTimes
  ) async -> (loaded: Resource, remaining: Int64)? {
    let decision = policy(hop).decision(
      on: head, to: request, for: hop.request, validating: cached.stored, at: times.response, lifetime: hop.lifetime)
    guard hop.behavior.fallback != .never, case .serveStale(_, let reason) = decision else { return nil }
    let status = CacheStatus(
      .hit, forwardStatus: head.status.code, detail: reason == .ifError ? "stale-if-error" : nil)
    return await serve(cached, to: hop, status)
  }

  /// The URL, and those of the same origin that the answer names. RFC 9111 §4.4.
  private func targets(of head: HTTPResponse, _ hop: OutgoingRequest) -> [CacheKey] {
    let named = cache.policy.invalidatedReferences(head).compactMap { reference in
      hop.url.resolving(reference, ignoring: []).flatMap { Self.ownURL($0, hop) }
    }
    return ([hop.url] + named).map {
      let identity = URLMemo.Entry($0, ignoring: configuration.ignoredParameters).identity
      return CacheKey(identity, host: hop.host, in: hop.key.partition)
    }
  }

  /// Returns a URL as it is looked up: by the server's own name also where it has the name that the client calls the
  /// server by. Returns `nil` if it is of another origin.
  ///
  /// Under which scheme clients come is not known: somebody before this may have taken TLS off.
  private static func ownURL(_ url: PageURL, _ hop: OutgoingRequest) -> PageURL? {
    let origin = url.origin
    if origin == hop.url.origin { return url }
    guard let host = hop.clientHost, let scheme = origin.firstRange(of: "://"),
      PageURL(origin[..<scheme.upperBound] + host + "/", ignoring: [])?.origin == origin
    else { return nil }
    return PageURL(hop.url.origin + url.text.dropFirst(origin.count), ignoring: [])
  }

  private func invalidate(_ keys: [CacheKey]) async {
    generations.supersede(keys)
    // Behind what is being stored just now: that is older.
    for key in Set(keys) { await turns.run(key) { [cache] in await cache.invalidate([key]) } }
  }

  /// RFC 9110 §9.3.3: a POST's answer that says it is what a GET would give is stored as that.
  private func storingAnswerToGet(
    _ hop: OutgoingRequest, _ request: HTTPRequest, _ response: TransportResponse, _ times: ExchangeTimes
  ) async -> TransportResponse {
    guard hop.method == .post, hop.isStored,
      case .store(let status, let fields) = storagePolicy(hop).storage(
        of: response.head, to: request, received: times.response),
      let writer = cache.writer()
    else { return response }
    let pending = PendingResponse(hop, status: status, fields: fields, times: times, shape: .whole(size: nil))
    // It is what there is since the change.
    let generation = generations.begin(hop.key)
    let incoming = IncomingResponse(response.head, to: request, generation: generation, spool: writer)
    incoming.start(response.body, in: tasks) { [self] isWhole, writer in
      await commit(writer, pending, isWhole: isWhole, generation)
    } landed: { [generations] in
      generations.end(hop.key)
    }
    return incoming.body().map { TransportResponse(head: response.head, body: $0) } ?? response
  }

  /// A HEAD tells something of what is stored for GET. RFC 9111 §4.3.5.
  private func freshen(_ hop: OutgoingRequest, _ head: HTTPResponse, _ times: ExchangeTimes, _ generation: UInt64) async
  {
    await turns.run(hop.key) { [self] in
      let found = await cache.responses(for: hop.key, fields: hop.request.headerFields).filter {
        $0.stored.vary.matches(hop.request.headerFields) && $0.stored.status == 200
      }
      guard generations.claim(generation, for: hop.key, tags: found.flatMap(\.tags)) else { return }
      for cached in found {
        if let fields = policy(hop).freshening(of: cached.stored, byHead: head, at: times.response) {
          _ = await cache.update(cached, fields: fields, times: times)
        } else {
          await cache.invalidate([hop.key])
        }
      }
    }
  }
}
