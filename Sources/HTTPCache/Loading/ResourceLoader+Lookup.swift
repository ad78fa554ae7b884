import HTTPCaching
import HTTPTransport
import HTTPTypes
import Logging

extension ResourceLoader {
  /// What answers a request, or what is to be done for it, by what is stored now.
  enum Lookup {
    /// A file of the release that the page sees.
    case releaseFile(Resource)
    /// - Parameter found: the responses that the decision was made among.
    case decided(CacheDecision, found: [CachedResponse])
  }

  /// Looks up what is stored, and decides. Nothing is done yet, so that ``explain(_:)`` says what ``answer(_:)`` does.
  ///
  /// - Parameters:
  ///   - gone: ids of stored responses whose bytes have turned out to be missing.
  ///   - mayFetch: the network may be asked for a release's file that is not stored.
  func lookup(_ hop: OutgoingRequest, without gone: Set<Int64> = [], mayFetch: Bool) async throws -> Lookup {
    // Whatever the behaviour, a page never gets another release's bytes than its own.
    if gone.isEmpty, hop.origin == nil, hop.method == .get, hop.snapshot != nil || hop.behavior.cacheRead != .never,
      let file = try await releaseFile(at: hop.url, in: hop.snapshot, mayFetch: mayFetch)
    {
      return .releaseFile(file)
    }
    // RFC 9110 §9.3.1: the body of a GET has no defined meaning, so that no stored response can answer it.
    if hop.hasBody, hop.method == .get || hop.method == .head {
      let decision: CacheDecision =
        hop.behavior.network == .never ? .gatewayTimeout(because: .method) : .fetch(hop.request, because: .method)
      return .decided(decision, found: [])
    }
    var found = await cache.responses(for: hop.key, fields: hop.request.headerFields)
    if !gone.isEmpty { found.removeAll { gone.contains($0.entry.id) } }
    let isOnline = hop.behavior.yieldsOffline && hop.origin == nil ? reachability.isOnline(hop.url) : true
    let decision = hop.behavior.decision(
      for: hop.request, among: found.map(\.stored), at: configuration.now(), policy: policy(hop),
      lifetime: hop.lifetime, isOnline: isOnline)
    return .decided(decision, found: found)
  }

  /// One hop: what the decision says is done here, and nowhere else.
  ///
  /// - Returns: also the seconds for which the answer is still fresh.
  func answer(_ hop: OutgoingRequest) async throws -> (loaded: Resource, remaining: Int64) {
    var gone: Set<Int64> = []
    while true {
      let found: [CachedResponse]
      let decision: CacheDecision
      switch try await lookup(hop, without: gone, mayFetch: hop.behavior.network != .never) {
      case .releaseFile(let file): return (file, 0)
      case .decided(let made, let among): (decision, found) = (made, among)
      }
      configuration.logger.debug("\(decision.summary)", metadata: ["key": "\(hop.key)"])
      switch decision {
      case .serve(let stored, _, let reason):
        if let cached = found.first(where: { $0.entry.id == stored.id }),
          let answer = await serve(cached, to: hop, CacheStatus(.hit), freshAmong: reason == .fresh ? found : [])
        {
          return answer
        }
        gone.insert(stored.id)
      case .serveStale(let stored, _, let request):
        if let answer = await serve(found, stored.id, to: hop, CacheStatus(.hit)) {
          revalidate(hop, request, found.first { $0.entry.id == stored.id })
          return answer
        }
        gone.insert(stored.id)
      case .revalidate(let stored, let request, let reason):
        return try await ask(hop, request, validating: found.first { $0.entry.id == stored.id }, found, reason)
      case .complete(let stored, let request):
        return try await ask(hop, request, validating: found.first { $0.entry.id == stored.id }, found, .partial)
      case .fetch(let request, let reason):
        return try await ask(hop, request, validating: errorAnswer(to: hop, among: found, reason), found, reason)
      case .gatewayTimeout(let reason):
        guard hop.behavior.network != .never else { throw LoadError.notStored(hop.url, reason) }
        return (gatewayTimeout(hop, reason), 0)
      }
    }
  }

  /// Returns the stored response without a validator that may stand for an error of the server, which a request that is
  /// sent without conditions takes along for that. RFC 5861 §4.
  private func errorAnswer(to hop: OutgoingRequest, among found: [CachedResponse], _ reason: ForwardReason)
    -> CachedResponse?
  {
    guard reason != .precondition,
      let stored = policy(hop).anyAnswer(to: hop.request, among: found.map(\.stored)), stored.validators.isEmpty
    else { return nil }
    return found.first { $0.entry.id == stored.id }
  }

  /// - Returns: `nil` if the URL belongs to no file of the release.
  func releaseFile(at url: PageURL, in snapshot: (any FileSnapshot)?, mayFetch: Bool = true) async throws -> Resource? {
    let isOnline = reachability.setting != .offline
    guard let bytes = try await files?.file(at: url, in: snapshot, mayFetch: mayFetch && isOnline) else { return nil }
    let path = url.text.prefix { $0 != "?" }
    return Resource(url: url, bytes: bytes, mediaType: MediaType.of(path: String(path)), source: .release)
  }

  /// What is stored, as the request wants it; nil where its bytes have gone.
  func serve(
    _ found: [CachedResponse], _ id: Int64, to hop: OutgoingRequest, _ status: CacheStatus,
    source: Resource.Source? = nil,
    generation: UInt64 = 0
  ) async -> (loaded: Resource, remaining: Int64)? {
    guard let cached = found.first(where: { $0.entry.id == id }) else { return nil }
    return await serve(cached, to: hop, status, source: source, generation: generation)
  }

  /// - Parameter found: what it was chosen among, where it was for being fresh.
  func serve(
    _ cached: CachedResponse, to hop: OutgoingRequest, _ status: CacheStatus, source: Resource.Source? = nil,
    generation: UInt64 = 0,
    freshAmong found: [CachedResponse] = []
  ) async -> (loaded: Resource, remaining: Int64)? {
    let now = configuration.now()
    let freshness = Freshness(of: cached.stored, at: now, rule: hop.lifetime)
    let answer = StoredAnswer(to: hop.request, from: cached.stored, age: freshness.age)
    var status = status
    status.timeToLive = freshness.remaining
    var body = Body([])
    if case .bytes(let range) = answer.body {
      guard let stored = await cache.body(of: cached) else { return nil }
      body = decoded(Body(stored, range), of: answer.head, hop)
    }
    var loaded = Resource(
      url: hop.url,
      response: HTTPResponse(status: answer.head.status, headerFields: status.added(to: answer.head.headerFields)),
      body: body, source: source ?? (cached.bytes == nil ? .disk : .memory), age: freshness.age,
      generation: generation, cacheStatus: status, userInfo: cached.userInfo, digest: cached.entry.digest)
    if !found.isEmpty, cached.bytes != nil, freshness.isFresh, mayStand(hop) {
      loaded.replay = ReplayableResponse(
        cached, among: found, in: cache, made: now, remaining: freshness.remaining, now: configuration.now)
    }
    // However young it is, it may not be used without asking.
    let mustAsk = cached.stored.isInvalidated || cached.stored.control.noCache == .response
    return (loaded, mustAsk ? min(0, freshness.remaining) : freshness.remaining)
  }

  /// Whether nothing but the age of what is stored can change the answer, and nothing else has to be done for it.
  private func mayStand(_ hop: OutgoingRequest) -> Bool {
    // RFC 9111 §5.2.1, §5.4: these may set bounds of their own to the age.
    hop.behavior.refresh == .never && !hop.request.headerFields.contains(.cacheControl)
      && !hop.request.headerFields.contains { $0.name.canonicalName == "pragma" }
  }

  /// RFC 9111 §5.2.1.7.
  private func gatewayTimeout(_ hop: OutgoingRequest, _ reason: ForwardReason) -> Resource {
    let status = CacheStatus(.forwarded(reason), detail: "only-if-cached")
    let fields = status.added(to: [.contentLength: "0", .date: configuration.now().description])
    return Resource(
      url: hop.url, response: HTTPResponse(status: .gatewayTimeout, headerFields: fields), body: Body([]),
      source: .local, generation: generations.current, cacheStatus: status)
  }

  /// The content of stored or received bytes, where it is all of them.
  func decoded(_ body: Body, of head: HTTPResponse, _ hop: OutgoingRequest) -> Body {
    guard !hop.keepsContentEncoding, hop.method != .head,
      ![.partialContent, .notModified, .noContent].contains(head.status),
      let encoding = head.headerFields[.contentEncoding], !["", "identity"].contains(encoding.lowercased()),
      let decoder = try? coding.decoder(for: encoding, url: hop.url.text, limit: configuration.bodyLimit)
    else { return body }
    let content = DecodedBody(body.reader(), decoder)
    var decoded = Body(next: { try await content.next() }, summary: { await body.transferSummary() })
    (decoded.url, decoded.isDecoded) = (body.url, true)
    return decoded
  }
}
