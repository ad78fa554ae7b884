import HTTPTypes

/// The action that a cache takes for a request. RFC 9111 §4.
///
/// Ages are in seconds. The requests are complete: they have the conditions that the cache adds.
public enum CacheDecision: Equatable, Sendable {
  /// Answer from the stored response, with ``StoredResponse/response(to:age:)``.
  case serve(StoredResponse, age: Int64, because: ServeReason)
  /// Answer from the stale response, and revalidate it in the background with the given request. RFC 5861 §3.
  case serveStale(StoredResponse, age: Int64, revalidatingWith: HTTPRequest)
  /// Send the given conditional request, which validates the stored response. RFC 9111 §4.3.
  /// ``CachePolicy/decision(on:to:for:validating:at:lifetime:)`` takes its response.
  case revalidate(StoredResponse, with: HTTPRequest, because: ForwardReason)
  /// Send the given range request for the bytes that the stored part lacks. RFC 9111 §3.3.
  case complete(StoredResponse, with: HTTPRequest)
  /// Send the request to the origin; no stored response is involved.
  case fetch(HTTPRequest, because: ForwardReason)
  /// Answer with 504: the request has `only-if-cached`, and no stored response may be used. RFC 9111 §5.2.1.7.
  case gatewayTimeout(because: ForwardReason)

  /// `true` if no stored response answers.
  package var servesNothing: Bool {
    switch self {
    case .serve, .serveStale: false
    case .revalidate, .complete, .fetch, .gatewayTimeout: true
    }
  }
}

/// The rule that permits the use of a stored response. The raw value is a clause for logs.
public enum ServeReason: String, Hashable, Sendable {
  /// The response is fresh.
  case fresh = "it is fresh"
  /// The request has `max-stale`.
  case requestAllowsStale = "the request accepts stale answers"
  /// The response has `stale-while-revalidate`.
  case whileRevalidating = "it may be used while it is revalidated"
  /// The response or the request has `stale-if-error`.
  case ifError = "it may be used when the origin fails"
  /// No exchange with the origin succeeded.
  case disconnected = "the origin cannot be reached"
  /// The caller accepts a response of any age.
  case anyAge = "whatever is stored will do"

  /// The section of the RFC that contains the rule; `nil` if the rule is the caller's own.
  public var clause: String? {
    switch self {
    case .fresh: "RFC 9111 §4.2"
    case .requestAllowsStale: "RFC 9111 §5.2.1.2"
    case .whileRevalidating: "RFC 5861 §3"
    case .ifError: "RFC 5861 §4"
    case .disconnected: "RFC 9111 §4.2.4"
    case .anyAge: nil
    }
  }
}

/// The rule that sends a request to the origin. The raw value is a clause for logs.
public enum ForwardReason: String, Hashable, Sendable {
  /// The method is neither GET nor HEAD.
  case method = "only GET and HEAD are answered from the cache"
  /// The cache has no response for the URL.
  case notStored = "nothing is stored for the URL"
  /// The `Vary` of each stored response selects other request fields.
  case variant = "the stored responses are for other request fields"
  /// The freshness lifetime of the stored response is over.
  case stale = "it is stale"
  /// An unsafe request, or a purge, has invalidated the stored response.
  case invalidated = "the resource was changed since it was stored"
  /// The stored response has no lifetime, and no validator either.
  case noFreshness = "the server gave neither a lifetime nor a validator"
  /// The stored response has `no-cache`, or a directive that forbids storing it.
  case responseNoCache = "the response says no-cache"
  /// The request has `no-cache`, or `Pragma: no-cache`.
  case requestNoCache = "the request says no-cache"
  /// The stored response is older than the `max-age` of the request.
  case requestMaxAge = "it is older than the request accepts"
  /// The stored response is fresh for less time than the `min-fresh` of the request.
  case requestMinFresh = "it is not fresh for as long as the request wants"
  /// The stored part lacks bytes that the request wants.
  case partial = "only a part of it is stored"
  /// The request has `If-Match` or `If-Unmodified-Since`.
  case precondition = "the request's condition is for the origin"
  /// The request has `Upgrade`.
  case upgrade = "the request asks for another protocol"
  /// The cache was cut off from those who purge it, and has not heard of all purges since.
  case unknownPurges = "purges may have been missed since it was stored"
  /// The caller insists on the origin's answer.
  case asked = "the caller wants the origin's answer"

  /// The section of the RFC that contains the rule; `nil` if the rule is the caller's own.
  public var clause: String? {
    switch self {
    case .method, .notStored: "RFC 9111 §4"
    case .variant: "RFC 9111 §4.1"
    case .stale, .noFreshness: "RFC 9111 §4.2"
    case .invalidated: "RFC 9111 §4.4"
    case .responseNoCache: "RFC 9111 §5.2.2.4"
    case .requestNoCache: "RFC 9111 §5.2.1.4"
    case .requestMaxAge: "RFC 9111 §5.2.1.1"
    case .requestMinFresh: "RFC 9111 §5.2.1.3"
    case .partial: "RFC 9111 §3.3"
    case .precondition: "RFC 9111 §4.3.2"
    case .upgrade: "RFC 9110 §7.8"
    case .asked, .unknownPurges: nil
    }
  }

  /// The value of the `fwd` parameter. RFC 9211 §2.2.
  var cacheStatusToken: String {
    switch self {
    case .method: "method"
    case .notStored: "uri-miss"
    case .variant: "vary-miss"
    case .stale, .invalidated, .noFreshness, .responseNoCache, .unknownPurges: "stale"
    case .requestNoCache, .requestMaxAge, .requestMinFresh, .asked: "request"
    case .partial: "partial"
    case .precondition, .upgrade: "bypass"
    }
  }
}

// MARK: - Deciding

extension CachePolicy {
  /// Decides how a request is answered: from a stored response, or by the origin. RFC 9111 §4.
  ///
  ///     switch policy.decision(for: request, among: stored, at: now) {
  ///     case .serve(let response, let age, _): print("serve", response.response(to: request, age: age).head)
  ///     case .serveStale(let response, let age, let refresh): print("serve", response.id, age, "and send", refresh)
  ///     case .revalidate(let response, let conditional, let why): print("ask", conditional, response.id, why.rawValue)
  ///     case .complete(let part, let rest): print("send", rest, "for the rest of", part.id)
  ///     case .fetch(let request, let why): print("send", request, why.rawValue)
  ///     case .gatewayTimeout: print("answer with 504")
  ///     }
  ///
  /// - Parameters:
  ///   - request: the client's request.
  ///   - stored: all responses that are stored for the request's URL, in any order; those whose `Vary` selects other
  ///     requests too.
  ///   - now: the time of the decision.
  ///   - rule: the caller's own limit to freshness lifetimes.
  /// - Returns: the action. The time that it takes is linear in the number of stored responses.
  public func decision(
    for request: HTTPRequest, among stored: [StoredResponse], at now: HTTPDate, lifetime rule: LifetimeRule = .server
  ) -> CacheDecision {
    let asked = CacheControl(request: request.headerFields)
    func forward(_ reason: ForwardReason) -> CacheDecision {
      asked.onlyIfCached ? .gatewayTimeout(because: reason) : .fetch(request, because: reason)
    }
    guard Self.isAnswerable(request.method) else { return .fetch(request, because: .method) }
    // RFC 9111 §4.3.2: only the origin evaluates these two.
    if request.headerFields.contains(.ifMatch) || request.headerFields.contains(.ifUnmodifiedSince) {
      return forward(.precondition)
    }
    let candidate: StoredResponse
    switch selection(for: request, among: stored) {
    case .none:
      if !asked.onlyIfCached, let other = variant(for: request, among: stored),
        let validating = validation(of: other, for: request)
      {
        return .revalidate(other, with: validating, because: .variant)
      }
      return forward(stored.isEmpty ? .notStored : .variant)
    case .unusablePart(let part):
      guard !asked.onlyIfCached, let rest = Self.restRequest(for: request, after: part) else {
        return forward(.partial)
      }
      return .complete(part, with: rest)
    case .found(let found): candidate = found
    }
    let freshness = Freshness(of: candidate, at: now, rule: rule)
    switch obstacle(to: candidate, freshness, asked) {
    case nil:
      return .serve(candidate, age: freshness.age, because: freshness.isFresh ? .fresh : .requestAllowsStale)
    case let reason?:
      if asked.onlyIfCached { return .gatewayTimeout(because: reason) }
      let validating = validation(of: candidate, for: request)
      // RFC 9111 §5.2.1.1: a request with max-age accepts stale responses only if it has max-stale.
      if reason == .stale, mayBeStale(candidate), asked.maxAge == nil,
        let window = candidate.control.staleWhileRevalidate, -freshness.remaining <= window
      {
        // The client's own conditions concern the client's copy, not the stored one.
        let refreshing = validating ?? Self.unconditional(request)
        return .serveStale(candidate, age: freshness.age, revalidatingWith: refreshing)
      }
      return validating.map { .revalidate(candidate, with: $0, because: reason) } ?? .fetch(request, because: reason)
    }
  }

  /// The request that validates a stored response; `nil` if the response has no validator. RFC 9111 §4.3.1.
  ///
  /// - Parameters:
  ///   - stored: the stored response.
  ///   - request: the client's request, whose own conditions are replaced.
  public func validation(of stored: StoredResponse, for request: HTTPRequest) -> HTTPRequest? {
    stored.validators.isEmpty ? nil : stored.validators.applied(to: request)
  }

  /// Returns `true` for the methods that stored responses answer.
  static func isAnswerable(_ method: HTTPRequest.Method) -> Bool { method == .get || method == .head }

  /// Returns the stored response that the request selects, of any age, even if the request or the response forbids its
  /// use without validation; `nil` if there is none. RFC 9111 §4.1.
  ///
  /// - Parameters:
  ///   - request: the client's request. Other methods than GET and HEAD select nothing. `If-Match` and
  ///     `If-Unmodified-Since` do not count, which RFC 9110 §13.1.1 and §13.1.4 leave to caches.
  ///   - stored: all responses that are stored for the request's URL.
  public func selectedResponse(for request: HTTPRequest, among stored: [StoredResponse]) -> StoredResponse? {
    guard Self.isAnswerable(request.method) else { return nil }
    return if case .found(let found) = selection(for: request, among: stored) { found } else { nil }
  }

  /// Returns `true` if nothing forbids the use of the response when it is stale. A rule that permits it is necessary
  /// too. RFC 9111 §4.2.4.
  func mayBeStale(_ stored: StoredResponse) -> Bool {
    !stored.isInvalidated && !mustBeRevalidated(stored) && stored.control.noCache != .response && mayBeKept(stored)
  }

  /// Returns `true` if a stale response may not be used before its origin has confirmed it: a cache that cannot reach
  /// the origin answers with an error, which should be 504. RFC 9111 §5.2.2.2, §5.2.2.8, §5.2.2.10.
  public func mustBeRevalidated(_ stored: StoredResponse) -> Bool {
    let control = stored.control
    return control.mustRevalidate || mode == .shared && (control.proxyRevalidate || control.sharedMaxAge != nil)
  }

  /// The reason why a stored response must not be used without validation; `nil` if it may be used.
  private func obstacle(to stored: StoredResponse, _ freshness: Freshness, _ asked: CacheControl) -> ForwardReason? {
    if stored.isInvalidated { return .invalidated }
    // A response that must not be stored any more must not be used without validation either.
    if stored.control.noCache == .response || !mayBeKept(stored) { return .responseNoCache }
    if asked.noCache != nil { return .requestNoCache }
    // RFC 9111 §5.2.1.3
    if let wanted = asked.minFresh, freshness.remaining < wanted { return .requestMinFresh }
    let isTooOld = asked.maxAge.map { freshness.age > $0 } ?? false
    if freshness.isFresh, !isTooOld { return nil }
    // RFC 9111 §5.2.1.2: max-stale also covers the time above the request's own max-age.
    let staleFor = max(-freshness.remaining, asked.maxAge.map { freshness.age - $0 } ?? .min)
    if mayBeStale(stored), freshness.isKnown {
      switch asked.maxStale {
      case .any: return nil
      case .seconds(let limit) where staleFor <= limit: return nil
      default: break
      }
    }
    if isTooOld { return .requestMaxAge }
    return freshness.isKnown || !stored.validators.isEmpty ? .stale : .noFreshness
  }

  // MARK: Selection

  enum Selection {
    case none
    case found(StoredResponse)
    /// A selected part that lacks bytes of the requested range.
    case unusablePart(StoredResponse)
  }

  /// Selects the most recent of the responses whose `Vary` matches the request. A response without `Vary` is selected
  /// only if no other matches. RFC 9111 §4, §4.1.
  func selection(for request: HTTPRequest, among stored: [StoredResponse]) -> Selection {
    var newest: StoredResponse?
    var newestPart: StoredResponse?
    for response in stored where response.answers(request.headerFields) {
      if response.extent.isWhole || Self.answersRange(response, request) {
        if newest.map({ $0.givesWay(to: response) }) ?? true { newest = response }
      } else if newestPart.map({ $0.givesWay(to: response) }) ?? true {
        newestPart = response
      }
    }
    if let newest { return .found(newest) }
    return newestPart.map { .unusablePart($0) } ?? .none
  }

  /// The newest response to a request that accepted fewer encodings. The origin can confirm it for this request too; this
  /// takes an `ETag`, which tells one encoding from another. RFC 9111 §4.3.1.
  private func variant(for request: HTTPRequest, among stored: [StoredResponse]) -> StoredResponse? {
    guard request.method == .get, !request.headerFields.contains(.range) else { return nil }
    return
      stored
      .filter {
        $0.extent.isWhole && $0.status == 200 && $0.validators.etag != nil
          && $0.mayBeConfirmed(for: request.headerFields)
      }
      .max { $0.givesWay(to: $1) }
  }

  private static func answersRange(_ part: StoredResponse, _ request: HTTPRequest) -> Bool {
    guard request.method == .get, let wanted = RequestedRange(request.headerFields), part.extent.covering(wanted) != nil
    else { return false }
    return part.rangeApplies(request.headerFields)
  }

  /// The request for the bytes that follow a stored beginning. RFC 9111 §3.3, RFC 9110 §13.1.5.
  private static func restRequest(for request: HTTPRequest, after part: StoredResponse) -> HTTPRequest? {
    guard request.method == .get, !request.headerFields.contains(.range), let etag = part.validators.strongETag,
      case .part(let range, _) = part.extent, range.lowerBound == 0, !part.isInvalidated
    else { return nil }
    var rest = request
    rest.headerFields[.ifNoneMatch] = nil
    rest.headerFields[.ifModifiedSince] = nil
    rest.headerFields[.range] = "bytes=\(range.upperBound)-"
    rest.headerFields[.ifRange] = etag
    return rest
  }
}

extension StoredResponse {
  /// Returns `true` if the other response is preferred: it has a `Vary` and this one has none (RFC 9111 §4.1), or it has
  /// a later `Date` or, if the dates are equal, arrived later (§4).
  fileprivate func givesWay(to other: StoredResponse) -> Bool {
    let (varies, otherVaries) = (!vary.values.isEmpty, !other.vary.values.isEmpty)
    guard varies == otherVaries else { return otherVaries }
    return (date, times.response, id) < (other.date, other.times.response, other.id)
  }
}
