import HTTPTypes

/// What a cache does with a request. RFC 9111 §4.
public enum CacheDecision: Equatable, Sendable {
  /// Answer with what is stored.
  case serve(StoredResponse, age: Int64, because: ServeReason)
  /// Answer with what is stored, and ask whether it is still valid meanwhile.
  case serveStale(StoredResponse, age: Int64, revalidatingWith: HTTPRequest)
  /// Ask whether what is stored is still valid.
  case revalidate(StoredResponse, with: HTTPRequest, because: ForwardReason)
  /// Ask for the rest of what is stored in part.
  case complete(StoredResponse, with: HTTPRequest)
  /// Ask, as though nothing were stored.
  case fetch(HTTPRequest, because: ForwardReason)
  /// The request may only be answered from what is stored, and nothing is that may be used. RFC 9111 §5.2.1.7.
  case gatewayTimeout(because: ForwardReason)
}

/// Why a stored response may be used.
public enum ServeReason: String, Hashable, Sendable {
  case fresh = "it is fresh"
  case requestAllowsStale = "the request accepts stale answers"
  case whileRevalidating = "it may be used while it is revalidated"
  case ifError = "it may be used where the origin fails"
  case disconnected = "the origin cannot be reached"
  /// The caller does not ask for more.
  case anyAge = "whatever is stored will do"

  /// Where the rule stands; nil where it is the caller's own.
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

/// Why a request goes to the origin.
public enum ForwardReason: String, Hashable, Sendable {
  case method = "only GET and HEAD are answered from the cache"
  case notStored = "nothing is stored for the URL"
  case variant = "what is stored answers other request fields"
  case stale = "it is stale"
  case invalidated = "the resource was changed since it was stored"
  case noFreshness = "the server gave neither a lifetime nor a validator"
  case responseNoCache = "the response says no-cache"
  case requestNoCache = "the request says no-cache"
  case requestMaxAge = "it is older than the request accepts"
  case requestMinFresh = "it is not fresh for as long as the request wants"
  case partial = "only a part of it is stored"
  case precondition = "the request's condition is for the origin"
  case upgrade = "the request asks for another protocol"
  /// The caller's wish.
  case asked = "the caller wants the origin's answer"

  /// Where the rule stands; nil where it is the caller's own.
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
    case .asked: nil
    }
  }

  /// The `fwd` parameter of RFC 9211 §2.2.
  public var cacheStatusToken: String {
    switch self {
    case .method: "method"
    case .notStored: "uri-miss"
    case .variant: "vary-miss"
    case .stale, .invalidated, .noFreshness, .responseNoCache: "stale"
    case .requestNoCache, .requestMaxAge, .requestMinFresh, .asked: "request"
    case .partial: "partial"
    case .precondition, .upgrade: "bypass"
    }
  }
}

// MARK: - Deciding

extension CachePolicy {
  /// How a request is answered, from what is stored for its URL or by the origin. RFC 9111 §4.
  ///
  /// - Parameters:
  ///   - stored: for the request's URL, whatever its variants.
  ///   - rule: how long the client takes responses to be fresh.
  public func decision(
    for request: HTTPRequest, among stored: [StoredResponse], at now: HTTPDate, lifetime rule: LifetimeRule = .server
  ) -> CacheDecision {
    let asked = RequestControl(request.headerFields).directives
    func forward(_ reason: ForwardReason) -> CacheDecision {
      asked.onlyIfCached ? .gatewayTimeout(because: reason) : .fetch(request, because: reason)
    }
    guard request.method == .get || request.method == .head else { return .fetch(request, because: .method) }
    // RFC 9111 §4.3.2: these two are for the origin alone.
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
      // RFC 9111 §5.2.1.1: who says how old it may be wants nothing stale, unless max-stale says so.
      if reason == .stale, mayBeStale(candidate), asked.maxAge == nil,
        let window = candidate.control.staleWhileRevalidate, -freshness.remaining <= window
      {
        // The client's own conditions ask about what it has, not about this.
        let refreshing = validating ?? Self.unconditional(request)
        return .serveStale(candidate, age: freshness.age, revalidatingWith: refreshing)
      }
      return validating.map { .revalidate(candidate, with: $0, because: reason) } ?? .fetch(request, because: reason)
    }
  }

  /// The request that validates a stored response; nil where it has no validator.
  public func validation(of stored: StoredResponse, for request: HTTPRequest) -> HTTPRequest? {
    stored.validators.isEmpty ? nil : stored.validators.applied(to: request)
  }

  /// What stands for the request whatever its age, for callers who do not ask for more.
  public func anyAnswer(to request: HTTPRequest, among stored: [StoredResponse]) -> StoredResponse? {
    if case .found(let found) = selection(for: request, among: stored) { found } else { nil }
  }

  /// Whether a response may be used once it is stale, where something else allows that. RFC 9111 §4.2.4.
  public func mayBeStale(_ stored: StoredResponse) -> Bool {
    !stored.isInvalidated && !mustBeRevalidated(stored) && stored.control.noCache != .response && mayBeKept(stored)
  }

  /// Returns `true` if a stale response may not be used before its origin has confirmed it: a cache that cannot reach
  /// the origin answers with an error, which should be 504. RFC 9111 §5.2.2.2, §5.2.2.8, §5.2.2.10.
  public func mustBeRevalidated(_ stored: StoredResponse) -> Bool {
    let control = stored.control
    return control.mustRevalidate || mode == .shared && (control.proxyRevalidate || control.sharedMaxAge != nil)
  }

  /// What keeps a stored response from being the answer; nil for nothing.
  private func obstacle(to stored: StoredResponse, _ freshness: Freshness, _ asked: CacheControl) -> ForwardReason? {
    if stored.isInvalidated { return .invalidated }
    // What may not even be kept may not be used without asking either.
    if stored.control.noCache == .response || !mayBeKept(stored) { return .responseNoCache }
    if asked.noCache != nil { return .requestNoCache }
    // RFC 9111 §5.2.1.3
    if let wanted = asked.minFresh, freshness.remaining < wanted { return .requestMinFresh }
    let isTooOld = asked.maxAge.map { freshness.age > $0 } ?? false
    if freshness.isFresh, !isTooOld { return nil }
    // RFC 9111 §5.2.1.2: also what exceeds the request's own max-age.
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
    /// Chosen, but it lacks bytes that are wanted.
    case unusablePart(StoredResponse)
  }

  /// The response that stands for the request: of those whose `Vary` fits, the most recent; those without any `Vary`
  /// only where there is no other. RFC 9111 §4, §4.1.
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

  /// The newest response that was for those who accept fewer encodings, and that the origin can say to be for this request
  /// too: only an `ETag` tells one encoding from another. RFC 9111 §4.3.1.
  private func variant(for request: HTTPRequest, among stored: [StoredResponse]) -> StoredResponse? {
    guard request.method == .get, !request.headerFields.contains(.range) else { return nil }
    return
      stored
      .filter {
        $0.extent.isWhole && $0.status == 200 && $0.validators.etag != nil && $0.mayAnswer(request.headerFields)
      }
      .max { $0.givesWay(to: $1) }
  }

  private static func answersRange(_ part: StoredResponse, _ request: HTTPRequest) -> Bool {
    guard request.method == .get, let wanted = RequestedRange(request.headerFields), part.extent.covering(wanted) != nil
    else { return false }
    return Preconditions.rangeApplies(request.headerFields, to: part)
  }

  /// Asks for what is missing behind a stored beginning. RFC 9111 §3.3, RFC 9110 §13.1.5.
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
  /// RFC 9111 §4.1: to one that varies, where this does not; §4: to a later `Date`, and to a later arrival where that
  /// does not tell.
  fileprivate func givesWay(to other: StoredResponse) -> Bool {
    let (varies, otherVaries) = (!vary.values.isEmpty, !other.vary.values.isEmpty)
    guard varies == otherVaries else { return otherVaries }
    return (date, times.response, id) < (other.date, other.times.response, other.id)
  }
}
