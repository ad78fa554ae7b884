import HTTPCaching
import HTTPTransport
import HTTPTypes

/// Finds the stored responses for a request, and decides what is to be done. Nothing is done here, so that
/// ``ResourceLoader/explain(_:)`` says what ``ResourceLoader/response(for:)`` does.
final class CacheLookup: Sendable {
  enum Outcome: Sendable {
    /// A file of the release that the page sees.
    case releaseFile(Resource)
    /// - Parameter found: the responses that the decision was made among.
    case decided(CacheDecision, found: [CachedResponse])
  }

  private let cache: ResponseCache
  private let files: FileLookup?
  private let reachability: Reachability
  private let resources: ResourceFactory
  private let now: @Sendable () -> HTTPDate
  private let storedUse: @Sendable (HTTPDate) -> StoredUse

  init(
    _ cache: ResponseCache, files: FileLookup?, reachability: Reachability, resources: ResourceFactory,
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
  func outcome(
    for request: OutgoingRequest, without gone: Set<Int64> = [], mayFetch: Bool
  ) async throws -> Outcome {
    // Whatever the behaviour, a page never gets another release's bytes than its own.
    if gone.isEmpty, request.origin == nil, request.method == .get,
      request.snapshot != nil || request.behavior.cacheRead != .never,
      let file = try await releaseFile(at: request.url, in: request.snapshot, mayFetch: mayFetch)
    {
      return .releaseFile(file)
    }
    // RFC 9110 §9.3.1: the body of a GET has no defined meaning, so that no stored response can answer it.
    if request.hasBody, request.method == .get || request.method == .head {
      let decision: CacheDecision =
        request.behavior.network == .never ? .gatewayTimeout(because: .method) : .fetch(request.head, because: .method)
      return .decided(decision, found: [])
    }
    var found = await cache.responses(for: request.key, fields: request.head.headerFields)
    if !gone.isEmpty { found.removeAll { gone.contains($0.id) } }
    return .decided(decision(for: request, among: found), found: found)
  }

  /// The same, if nothing has to be waited for; `nil` if something has to be.
  func decisionAtOnce(for request: OutgoingRequest) -> (decision: CacheDecision, found: [CachedResponse])? {
    guard files == nil, request.origin == nil, !request.hasBody,
      let found = cache.responsesAtOnce(for: request.key, fields: request.head.headerFields)
    else { return nil }
    return (decision(for: request, among: found), found)
  }

  private func decision(for request: OutgoingRequest, among found: [CachedResponse]) -> CacheDecision {
    let isOnline = request.behavior.yieldsOffline && request.origin == nil ? reachability.isOnline(request.url) : true
    let now = now()
    let decision = request.behavior.decision(
      for: request.head, among: found.map(\.stored), at: now, policy: request.policy, lifetime: request.lifetime,
      isOnline: isOnline)
    return storedUse(now).limited(
      decision, for: request.head, mayAsk: request.behavior.network != .never, policy: request.policy)
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
  func afterFailure(_ request: OutgoingRequest, _ found: [CachedResponse], detail: String) async -> Resource? {
    let (now, stored) = (now(), found.map(\.stored))
    let use = storedUse(now)
    // It would have answered, had all purges been known.
    if use != .unlimited, request.method == .get || request.method == .head,
      case .serve(let fresh, _, because: .fresh) = request.behavior.decision(
        for: request.head, among: stored, at: now, policy: request.policy, lifetime: request.lifetime, isOnline: true),
      use.mayFallBack(fresh), let cached = found.first(of: fresh)
    {
      return await resources.stored(cached, for: request, CacheStatus(.hit, detail: "cut-off"), isStale: true)
    }
    let fallback = request.behavior.responseAfterFailure(
      to: request.head, among: stored, at: now, policy: request.policy, lifetime: request.lifetime)
    if let (stored, _) = fallback, use.mayFallBack(stored) {
      guard let cached = found.first(of: stored) else { return nil }
      return await resources.stored(cached, for: request, CacheStatus(.hit, detail: detail))
    }
    guard request.method == .get, request.behavior.fallback != .never, request.snapshot == nil else { return nil }
    return try? await releaseFile(at: request.url, in: nil, mayFetch: false)
  }

  /// A response that has come for another request since the cache was looked at, and was stored: it is in memory.
  ///
  /// - Parameters:
  ///   - gone: ids of stored responses whose bytes have turned out to be missing.
  ///   - atOnce: does not look for others' changes, which may take a while.
  func foundMeanwhile(
    _ request: OutgoingRequest, without gone: Set<Int64>, atOnce: Bool = false
  ) -> CachedResponse? {
    guard request.origin == nil else { return nil }
    let (key, fields) = (request.key, request.head.headerFields)
    let held =
      atOnce
      ? cache.responseInMemoryAtOnce(for: key, fields: fields) : cache.responseInMemory(for: key, fields: fields)
    guard let found = held, !gone.contains(found.id) else { return nil }
    let now = now()
    let decision = request.behavior.decision(
      for: request.head, among: [found.stored], at: now, policy: request.policy, lifetime: request.lifetime,
      isOnline: true)
    guard case .serve = decision, storedUse(now).mayAnswer(found.stored.times) else { return nil }
    return found
  }
}

/// The loader's decision on a request at this time, and the reason. Durations are seconds, times seconds since 1970.
package struct Explanation: Hashable, Sendable {
  /// A decision of the loader.
  package enum Decision: String, Hashable, Sendable {
    case serve, serveStale, revalidate, complete, fetch, refuse
  }

  /// The URL as it would be sent.
  package let url: PageURL
  /// The decision.
  package let decision: Decision
  /// In a sentence.
  package let rule: String
  /// The section that the rule is from; `nil` if it is the caller's or the app's own.
  package let clause: String?
  /// `nil` if nothing is stored that the request could be answered with.
  package let storedAt: Double?
  /// Seconds since the origin made the stored response; `nil` if there is none. RFC 9111 §4.2.3.
  package let age: Int64?
  /// Seconds it stays fresh; nil once it is stale.
  package let freshFor: Int64?
  /// Seconds it has been stale; nil while it is fresh.
  package let staleFor: Int64?
  /// The stored validator. RFC 9110 §8.8.3.
  package let etag: String?
  /// The stored date. RFC 9110 §8.8.2.
  package let lastModified: String?
  /// Lower-case names of the request fields that chose it.
  package let vary: [String]
  /// The partition that is looked in.
  package let partition: String
  /// No eviction removes the stored response.
  package let isKept: Bool
  /// The behaviour's name.
  package let behavior: String
}

extension ResourceLoader {
  /// Tells what ``response(for:)`` would do now, without doing it.
  ///
  /// - Throws: ``LoadError``.
  package func explain(_ request: ResourceRequest) async throws -> Explanation {
    guard let outgoing = try requests.prepare(request).outgoing else {
      throw LoadError.invalidReference(request.reference)
    }
    let outcome = try await lookup.outcome(for: outgoing, mayFetch: false)
    let found = await cache.responses(for: outgoing.key, fields: outgoing.head.headerFields)
    let now = configuration.now()
    let stored = cache.policy.selectedResponse(for: outgoing.head, among: found.map(\.stored))
    let entry = stored.flatMap { found.first(of: $0) }?.entry
    let freshness = stored.map { Freshness(of: $0, at: now, rule: outgoing.lifetime) }
    let (decision, rule, clause): (Explanation.Decision, String, String?) =
      switch outcome {
      case .releaseFile: (.serve, "it is a file of the current release", nil)
      case .decided(let decision, _): decision.explained
      }
    return Explanation(
      url: outgoing.url, decision: decision, rule: rule, clause: clause, storedAt: entry?.storedAt,
      age: freshness?.age, freshFor: freshness.flatMap { $0.isFresh ? $0.remaining : nil },
      staleFor: freshness.flatMap { $0.isFresh ? nil : -$0.remaining }, etag: stored?.validators.etag,
      lastModified: stored?.validators.lastModified, vary: stored?.vary.values.keys.sorted() ?? [],
      partition: outgoing.key.partition.text, isKept: entry?.isKept ?? false, behavior: outgoing.behavior.name)
  }
}

extension CacheDecision {
  /// The decision in words, with the section that the rule is from.
  fileprivate var explained: (decision: Explanation.Decision, rule: String, clause: String?) {
    switch self {
    case .serve(_, _, let reason): (.serve, reason.rawValue, reason.clause)
    case .serveStale: (.serveStale, ServeReason.whileRevalidating.rawValue, ServeReason.whileRevalidating.clause)
    case .revalidate(_, _, let reason): (.revalidate, reason.rawValue, reason.clause)
    case .complete: (.complete, ForwardReason.partial.rawValue, ForwardReason.partial.clause)
    case .fetch(_, let reason): (.fetch, reason.rawValue, reason.clause)
    case .gatewayTimeout(let reason): (.refuse, reason.rawValue, reason.clause)
    }
  }
}
