import HTTPTypes

/// A stored response without its body, with everything that decisions need, computed once.
///
/// Two values are equal if everything that was stored is equal.
package struct StoredResponse: Hashable, Sendable {
  /// The cache's identifier for the response.
  package let id: Int64
  /// The status as received; 200 for a response that was stored from a 206.
  package let status: Int
  /// The stored fields. RFC 9111 §3.1.
  package let fields: HTTPFields
  /// The times of the exchange that the response came from, or that confirmed it last.
  package let times: ExchangeTimes
  /// The request fields that selected the response. RFC 9111 §4.1.
  package let vary: VaryKey
  /// The stored bytes.
  package let extent: Extent
  /// `true` if the response must be validated before its next use, because the resource was changed. RFC 9111 §4.4.
  package let isInvalidated: Bool
  /// The time since which the response counts as stale, whatever its lifetime; `nil` if it was never marked so.
  package let staleSince: HTTPDate?

  /// The directives that apply to this cache.
  package let control: CacheControl
  /// The freshness lifetime by the response's fields.
  package let lifetime: FreshnessLifetime
  /// The age as a function of time.
  package let age: Age
  /// The validators of the stored fields.
  package let validators: Validators
  /// When the origin made the response: its `Date`, or else its arrival.
  package let date: HTTPDate
  /// `false` if a purge by one of its tags would miss the response.
  let areTagsKept: Bool
  /// `false` for `Vary: *`, which a 304 may have brought: no request selects the response. RFC 9111 §4.1.
  let isSelectable: Bool

  /// Creates the description of a stored response, for ``CachePolicy/decision(for:among:at:lifetime:)``.
  ///
  /// - Parameters:
  ///   - id: an identifier that is unique among the responses of one URL; with equal dates, the larger one is newer.
  ///   - status: the status to answer with; 200 for a part.
  ///   - fields: the fields as ``StorageDecision`` gave them.
  ///   - times: the times of the exchange.
  ///   - vary: the request fields that the response's `Vary` names.
  ///   - extent: the stored bytes.
  ///   - isInvalidated: `true` if the response must be validated before its next use.
  ///   - staleSince: a time since which the response counts as stale; `nil` for none.
  ///   - policy: the rules of the cache; they determine which directives apply.
  package init(
    id: Int64, status: Int, fields: HTTPFields, times: ExchangeTimes, vary: VaryKey, extent: Extent,
    isInvalidated: Bool = false, staleSince: HTTPDate? = nil, policy: CachePolicy
  ) {
    self.id = id
    self.status = status
    self.fields = fields
    self.times = times
    self.vary = vary
    self.extent = extent
    self.isInvalidated = isInvalidated
    self.staleSince = staleSince
    let control = ResponseControl(of: fields, policy: policy)
    self.control = control.directives
    lifetime = FreshnessLifetime(
      of: HTTPResponse(status: .init(code: status), headerFields: fields), control: control,
      isShared: policy.mode == .shared, received: times.response)
    age = Age(of: fields, times: times)
    validators = Validators(of: fields)
    date = HTTPDate(singleIn: fields, .date, now: times.response) ?? times.response
    areTagsKept = CacheTags.areAllKept(fields)
    isSelectable = !VaryKey.isUnmatchable(fields)
  }

  package static func == (left: StoredResponse, right: StoredResponse) -> Bool {
    left.id == right.id && left.status == right.status && left.times == right.times && left.fields == right.fields
      && left.extent == right.extent && left.isInvalidated == right.isInvalidated && left.vary == right.vary
      && left.staleSince == right.staleSince
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(times)
  }

  /// The status and the fields as a head.
  package var head: HTTPResponse { HTTPResponse(status: .init(code: status), headerFields: fields) }
}

extension StoredResponse {
  /// Returns `true` if the response answers a request with these fields: they match its `Vary`, or differ only in that
  /// the request accepts fewer encodings, with that of the response among them. RFC 9111 §4.1.
  package func answers(_ request: HTTPFields) -> Bool {
    vary.matches(request)
      || differsInCodings(from: request) { offered, accepted in
        accepted.getsTheSame(as: offered, in: fields[.contentEncoding])
      }
  }

  /// Returns `true` if the request accepts more encodings than the one that selected this response. The origin may
  /// confirm the response for it.
  func mayAnswer(_ request: HTTPFields) -> Bool {
    differsInCodings(from: request) { offered, accepted in
      offered.getsTheSame(as: accepted, in: fields[.contentEncoding])
    }
  }

  private func differsInCodings(
    from request: HTTPFields, _ compare: (_ offered: AcceptedCodings, _ accepted: AcceptedCodings) -> Bool
  ) -> Bool {
    guard let offered = vary.acceptedCodings, vary.matches(request, but: "accept-encoding") else { return false }
    return compare(offered, AcceptedCodings(request))
  }
}

/// From when on stored responses may be used, where purges of a former time may be missing: those that the origin gave or
/// confirmed earlier may be outdated, however fresh they are.
package struct StoredUse: Hashable, Sendable {
  /// The earliest time of a request whose response may answer; `nil` for no limit.
  package let answersSince: HTTPDate?
  /// The earliest time of a request whose response may answer when the origin fails; `nil` for no limit.
  package let fallsBackSince: HTTPDate?

  package init(answersSince: HTTPDate? = nil, fallsBackSince: HTTPDate? = nil) {
    (self.answersSince, self.fallsBackSince) = (answersSince, fallsBackSince)
  }

  /// Everything may be used.
  package static let unlimited = StoredUse()

  /// Returns `true` if the response of an exchange may answer.
  package func mayAnswer(_ times: ExchangeTimes) -> Bool { answersSince.map { times.request >= $0 } ?? true }

  /// Returns `true` if a stored response may answer when the origin fails.
  package func mayFallBack(_ stored: StoredResponse) -> Bool {
    fallsBackSince.map { stored.times.request >= $0 } ?? true
  }

  /// A decision, where this permits it; otherwise the one that asks the origin about the stored response.
  ///
  /// - Parameter mayAsk: `false` if the origin is not to be asked.
  package func limited(_ decision: CacheDecision, for request: HTTPRequest, mayAsk: Bool, policy: CachePolicy)
    -> CacheDecision
  {
    let stored: StoredResponse
    switch decision {
    case .serve(let chosen, _, _), .serveStale(let chosen, _, _): stored = chosen
    case .revalidate, .complete, .fetch, .gatewayTimeout: return decision
    }
    if mayAnswer(stored.times) { return decision }
    // RFC 9111 §5.2.1.7: it may not be asked for a request with only-if-cached either.
    guard mayAsk, !RequestControl(request.headerFields).directives.onlyIfCached else {
      return .gatewayTimeout(because: .unknownPurges)
    }
    return policy.validation(of: stored, for: request).map { .revalidate(stored, with: $0, because: .unknownPurges) }
      ?? .fetch(request, because: .unknownPurges)
  }
}
