import HTTPTypes

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
