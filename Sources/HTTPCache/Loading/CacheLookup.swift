import HTTPCaching
import HTTPTransport
import HTTPTypes

/// Finds what is stored for a request, and decides what is to be done. Nothing is done here, so that
/// ``ResourceLoader/explain(_:)`` says what ``ResourceLoader/response(for:)`` does.
final class CacheLookup: Sendable {
  enum Answer: Sendable {
    /// A file of the release that the page sees.
    case releaseFile(Resource)
    /// - Parameter found: the responses that the decision was made among.
    case decided(CacheDecision, found: [CachedResponse])
  }

  private let cache: ResponseCache
  private let files: FileReader?
  private let reachability: Reachability
  private let resources: ResourceFactory
  private let now: @Sendable () -> HTTPDate
  private let storedUse: @Sendable (HTTPDate) -> StoredUse

  init(
    _ cache: ResponseCache, files: FileReader?, reachability: Reachability, resources: ResourceFactory,
    _ configuration: ResourceLoader.Configuration
  ) {
    self.cache = cache
    self.files = files
    self.reachability = reachability
    self.resources = resources
    (now, storedUse) = (configuration.now, configuration.storedUse)
  }

  /// - Parameters:
  ///   - gone: ids of stored responses whose bytes have turned out to be missing.
  ///   - mayFetch: the network may be asked for a release's file that is not stored.
  /// - Throws: if a file of the release that the page sees cannot be had.
  func answer(to hop: OutgoingRequest, without gone: Set<Int64> = [], mayFetch: Bool) async throws -> Answer {
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
    return .decided(decision(for: hop, among: found), found: found)
  }

  /// The same, if nothing has to be waited for; `nil` if something has to be.
  func answerAtOnce(to hop: OutgoingRequest) -> (decision: CacheDecision, found: [CachedResponse])? {
    guard files == nil, hop.origin == nil, !hop.hasBody,
      let found = cache.responsesAtOnce(for: hop.key, fields: hop.request.headerFields)
    else { return nil }
    return (decision(for: hop, among: found), found)
  }

  private func decision(for hop: OutgoingRequest, among found: [CachedResponse]) -> CacheDecision {
    let isOnline = hop.behavior.yieldsOffline && hop.origin == nil ? reachability.isOnline(hop.url) : true
    let now = now()
    let decision = hop.behavior.decision(
      for: hop.request, among: found.map(\.stored), at: now, policy: hop.policy, lifetime: hop.lifetime,
      isOnline: isOnline)
    return storedUse(now).limited(
      decision, for: hop.request, mayAsk: hop.behavior.network != .never, policy: hop.policy)
  }

  /// Returns `true` if a response of an earlier exchange may answer without asking the origin again.
  func mayAnswer(_ times: ExchangeTimes) -> Bool { storedUse(now()).mayAnswer(times) }

  /// Returns `true` if a stored response may answer when the origin fails.
  func mayFallBack(_ stored: StoredResponse) -> Bool { storedUse(now()).mayFallBack(stored) }

  /// - Returns: `nil` if the URL belongs to no file of the release.
  func releaseFile(at url: PageURL, in snapshot: (any FileSnapshot)?, mayFetch: Bool = true) async throws -> Resource? {
    let isOnline = reachability.setting != .offline
    guard let bytes = try await files?(url, snapshot, mayFetch && isOnline) else { return nil }
    return Resource(releaseFile: bytes, at: url)
  }

  /// The resource that is served after the origin has failed, if the behaviour allows one.
  ///
  /// - Parameters:
  ///   - found: the responses that were stored when the origin was asked.
  ///   - detail: why, for `Cache-Status`.
  func afterFailure(_ hop: OutgoingRequest, _ found: [CachedResponse], detail: String) async -> Resource? {
    let (now, stored) = (now(), found.map(\.stored))
    let use = storedUse(now)
    // It would have answered, had all purges been known.
    if use != .unlimited, hop.method == .get || hop.method == .head,
      case .serve(let fresh, _, because: .fresh) = hop.behavior.decision(
        for: hop.request, among: stored, at: now, policy: hop.policy, lifetime: hop.lifetime, isOnline: true),
      use.mayFallBack(fresh), let cached = found.first(holding: fresh)
    {
      return await resources.stored(cached, for: hop, CacheStatus(.hit, detail: "cut-off"), isStale: true)
    }
    let answer = hop.behavior.answerAfterFailure(
      to: hop.request, among: stored, at: now, policy: hop.policy, lifetime: hop.lifetime)
    if let (stored, _) = answer, use.mayFallBack(stored) {
      guard let cached = found.first(holding: stored) else { return nil }
      return await resources.stored(cached, for: hop, CacheStatus(.hit, detail: detail))
    }
    guard hop.method == .get, hop.behavior.fallback != .never, hop.snapshot == nil else { return nil }
    return try? await releaseFile(at: hop.url, in: nil, mayFetch: false)
  }

  /// A response that has come for another request since the cache was looked at, and was stored: it is in memory.
  func storedMeanwhile(_ hop: OutgoingRequest) async -> Resource? {
    guard let found = foundMeanwhile(hop) else { return nil }
    return await resources.stored(found, for: hop, CacheStatus(.hit))
  }

  /// Returns `true` if there is such a response.
  func hasStoredMeanwhile(_ hop: OutgoingRequest) -> Bool { foundMeanwhile(hop) != nil }

  private func foundMeanwhile(_ hop: OutgoingRequest) -> CachedResponse? {
    guard hop.origin == nil, let found = cache.responseInMemory(for: hop.key, fields: hop.request.headerFields) else {
      return nil
    }
    let now = now()
    let decision = hop.behavior.decision(
      for: hop.request, among: [found.stored], at: now, policy: hop.policy, lifetime: hop.lifetime, isOnline: true)
    guard case .serve = decision, storedUse(now).mayAnswer(found.stored.times) else { return nil }
    return found
  }
}
