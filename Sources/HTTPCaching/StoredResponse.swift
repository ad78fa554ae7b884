import HTTPTypes

/// The status, the fields and the times of a stored response: all that a cache writes down beside the bytes.
public struct ResponseMetadata: Hashable, Sendable {
  /// The status as received, which has three digits; 200 for a response that was stored from a 206.
  public var status: Int
  /// The stored fields, as ``StorageDecision`` gave them. RFC 9111 §3.1.
  public var fields: HTTPFields
  /// The times of the exchange that the response came from, or that confirmed it last. RFC 9111 §4.2.3.
  public var times: ExchangeTimes
  /// The request fields that selected the response. RFC 9111 §4.1.
  public var vary: VaryKey
  /// The stored bytes.
  public var extent: Extent
  /// `true` if the response must be validated before its next use, because the resource was changed. RFC 9111 §4.4.
  public var isInvalidated: Bool
  /// The time since which the response counts as stale, whatever its lifetime; `nil` if it was never marked so.
  public var staleSince: HTTPDate?
  /// The end of its freshness in seconds since 1970, by which responses are evicted.
  package var staleAt: Int64 = 0
  /// Metadata that the app's storage hook attached.
  package var userInfo: [String: String] = [:]

  /// Creates the metadata of a response.
  ///
  /// - Parameters:
  ///   - status: the status to answer with, of three digits; 200 for a part.
  ///   - fields: the fields as ``StorageDecision`` gave them.
  ///   - times: the times of the exchange.
  ///   - vary: the request fields that the response's `Vary` names.
  ///   - extent: the stored bytes.
  ///   - isInvalidated: `true` if the response must be validated before its next use.
  ///   - staleSince: a time since which the response counts as stale; `nil` for none.
  public init(
    status: Int, fields: HTTPFields, times: ExchangeTimes, vary: VaryKey, extent: Extent,
    isInvalidated: Bool = false, staleSince: HTTPDate? = nil
  ) {
    (self.status, self.fields, self.times, self.vary, self.extent) = (status, fields, times, vary, extent)
    (self.isInvalidated, self.staleSince) = (isInvalidated, staleSince)
  }

  /// - Parameter staleAt: seconds since 1970.
  package init(
    status: Int, fields: HTTPFields, times: ExchangeTimes, vary: VaryKey, extent: Extent, isInvalidated: Bool = false,
    staleAt: Int64, userInfo: [String: String] = [:]
  ) {
    self.init(
      status: status, fields: fields, times: times, vary: vary, extent: extent, isInvalidated: isInvalidated)
    (self.staleAt, self.userInfo) = (staleAt, userInfo)
  }
}

/// A stored response without its body, with everything that decisions need, computed once.
///
/// A cache keeps what the initializer takes, beside the body's bytes. Two values are equal if all of that is equal, apart
/// from the policy: what is computed with it does not count.
///
///     if case .store(let status, let fields) = policy.storage(of: response, to: request, received: now),
///       let vary = VaryKey(vary: fields, request: request.headerFields)
///     {
///       let times = ExchangeTimes(request: sent, response: now)
///       let metadata = ResponseMetadata(
///         status: status, fields: fields, times: times, vary: vary, extent: .whole(bytes))
///       let stored = StoredResponse(id: 1, metadata, policy: policy)
///       print(stored.lifetime.seconds, stored.lifetime.source.rawValue)
///     }
public struct StoredResponse: Hashable, Sendable {
  /// The cache's identifier for the response.
  public let id: Int64
  /// The status, the fields and the times, as they are written down.
  public let metadata: ResponseMetadata

  /// The status as received, from 100 to 999; 200 for a response that was stored from a 206.
  @inlinable public var status: Int { metadata.status }
  /// The stored fields. RFC 9111 §3.1.
  @inlinable public var fields: HTTPFields { metadata.fields }
  /// The times of the exchange that the response came from, or that confirmed it last.
  @inlinable public var times: ExchangeTimes { metadata.times }
  /// The request fields that selected the response. RFC 9111 §4.1.
  @inlinable public var vary: VaryKey { metadata.vary }
  /// The stored bytes.
  @inlinable public var extent: Extent { metadata.extent }
  /// `true` if the response must be validated before its next use, because the resource was changed. RFC 9111 §4.4.
  @inlinable public var isInvalidated: Bool { metadata.isInvalidated }
  /// The time since which the response counts as stale, whatever its lifetime; `nil` if it was never marked so.
  @inlinable public var staleSince: HTTPDate? { metadata.staleSince }

  /// The directives that apply to this cache.
  public let control: CacheControl
  /// The freshness lifetime by the response's fields. ``Freshness`` has the age at a time.
  public let lifetime: FreshnessLifetime
  /// The age as a function of time.
  package let age: Age
  /// The validators of the stored fields.
  public let validators: Validators
  /// When the origin made the response: its `Date`, or else its arrival.
  public let date: HTTPDate
  /// `false` if a purge by one of its tags would miss the response.
  let areTagsKept: Bool
  /// `false` for `Vary: *`, which a 304 may have brought: no request selects the response. RFC 9111 §4.1.
  let isSelectable: Bool

  /// Creates the description of a stored response, for ``CachePolicy/decision(for:among:at:lifetime:)``.
  ///
  /// - Parameters:
  ///   - id: an identifier that is unique among the responses of one URL; with equal dates, the larger one is newer.
  ///   - metadata: what was written down of it. A status that is not from 100 to 999 counts as 500. Negative numbers of the
  ///     extent are of no bytes, and a size below the end of a part is unknown.
  ///   - policy: the rules of the cache; they determine which directives apply.
  public init(id: Int64, _ metadata: ResponseMetadata, policy: CachePolicy) {
    var metadata = metadata
    // RFC 9110 §15: an invalid status counts as an error of the server.
    if !(100...999).contains(metadata.status) { metadata.status = 500 }
    metadata.extent = metadata.extent.valid
    (self.id, self.metadata) = (id, metadata)
    let (status, fields, times) = (metadata.status, metadata.fields, metadata.times)
    let control = policy.control(of: fields)
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

  package init(
    id: Int64, status: Int, fields: HTTPFields, times: ExchangeTimes, vary: VaryKey, extent: Extent,
    isInvalidated: Bool = false, staleSince: HTTPDate? = nil, policy: CachePolicy
  ) {
    self.init(
      id: id,
      ResponseMetadata(
        status: status, fields: fields, times: times, vary: vary, extent: extent, isInvalidated: isInvalidated,
        staleSince: staleSince), policy: policy)
  }

  /// The policy and the cache's own metadata do not count.
  public static func == (left: StoredResponse, right: StoredResponse) -> Bool {
    left.id == right.id && left.status == right.status && left.times == right.times && left.fields == right.fields
      && left.extent == right.extent && left.isInvalidated == right.isInvalidated && left.vary == right.vary
      && left.staleSince == right.staleSince
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(times)
  }

  /// The status and the fields as a head.
  public var head: HTTPResponse { HTTPResponse(status: .init(code: status), headerFields: fields) }
}

extension StoredResponse {
  /// Returns `true` if the response answers a request with these fields: they match its `Vary`, or differ only in that
  /// the request accepts fewer encodings, with that of the response among them. RFC 9111 §4.1.
  ///
  /// - Parameter request: the fields of the request.
  public func answers(_ request: HTTPFields) -> Bool {
    vary.matches(request)
      || differsInCodings(from: request) { offered, accepted in
        accepted.getsTheSame(as: offered, in: fields[.contentEncoding])
      }
  }

  /// Returns `true` if the request accepts more encodings than the one that selected this response. The origin may
  /// confirm the response for it.
  func mayBeConfirmed(for request: HTTPFields) -> Bool {
    differsInCodings(from: request) { offered, accepted in
      offered.getsTheSame(as: accepted, in: fields[.contentEncoding])
    }
  }

  /// Returns the key that the response is stored with after the origin has confirmed it: its own, or the request's if
  /// its own does not answer the request, or `Vary` names other fields now. RFC 9111 §4.1, §4.3.4.
  ///
  /// - Parameters:
  ///   - fields: the fields of ``ResponseDecision/freshen(_:fields:)``, or of a HEAD.
  ///   - request: the fields of the client's request that the origin's 304 is for.
  public func varyKey(confirmedBy fields: HTTPFields, for request: HTTPFields) -> VaryKey {
    // With Vary: *, no request selects the response, whatever its key.
    guard let new = VaryKey(vary: fields, request: request) else { return vary }
    return new.values.keys == vary.values.keys && answers(request) ? vary : new
  }

  private func differsInCodings(
    from request: HTTPFields, _ compare: (_ offered: AcceptedCodings, _ accepted: AcceptedCodings) -> Bool
  ) -> Bool {
    guard let offered = vary.acceptedCodings, vary.matches(request, but: "accept-encoding") else { return false }
    return compare(offered, AcceptedCodings(request))
  }
}

// MARK: - The response to a request

extension StoredResponse {
  /// The fields of a 200 that its 304 repeats, and `Via`. RFC 9110 §15.4.5.
  static let notModifiedFields: Set<HTTPField.Name> = [
    .cacheControl, .contentLocation, .date, .eTag, .expires, .vary, .lastModified, .via,
  ]

  /// Makes the response to a request, with regard to the request's conditions and range: the stored status, 206, 304 or
  /// 416. RFC 9111 §4, §4.3.2.
  ///
  ///     let (head, bytes) = stored.response(to: request, age: age)
  ///     print(head.status, bytes.map { body[Int($0.lowerBound)..<Int($0.upperBound)] } ?? [])
  ///
  /// - Parameters:
  ///   - request: the client's request, which selects this response: ``CacheDecision``.
  ///   - age: the age of the stored response in seconds, for the `Age` field. RFC 9111 §5.1. Numbers below 0 and above
  ///     ``CacheControl/longestSeconds`` count as these.
  /// - Returns: the head, and the positions of its content in the stored bytes; `nil` for no content.
  public func response(to request: HTTPRequest, age: Int64) -> (head: HTTPResponse, bytes: Range<Int64>?) {
    var fields = self.fields
    fields[.age] = String(min(max(0, age), CacheControl.longestSeconds))
    let isSuccess = (200..<300).contains(status)
    if isSuccess, isNotModified(for: request.headerFields) {
      let kept = fields.filter { Self.notModifiedFields.contains($0.name) || $0.name == .age }
      return (HTTPResponse(status: .init(code: 304), headerFields: HTTPFields(kept)), nil)
    }
    // RFC 9110 §14.2: Range applies if the response without it would be a 200 to GET.
    if status == 200, request.method == .get, let wanted = RequestedRange(request.headerFields),
      rangeApplies(request.headerFields)
    {
      if let range = extent.covering(wanted) { return part(range, fields) }
      if case .whole(let size) = extent, !wanted.isSatisfiable(in: size) {
        // The other stored fields describe the 200. A 416 must not inherit its lifetime.
        fields = HTTPFields(fields.filter { [.date, .age, .via].contains($0.name) })
        fields[.contentRange] = "bytes */\(size)"
        return (HTTPResponse(status: .init(code: 416), headerFields: fields), nil)
      }
    }
    // RFC 9111 §3.3: a stored part is never sent as a whole representation.
    if request.method == .get, case .part(let range, _) = extent, !range.isEmpty { return part(range, fields) }
    return (
      HTTPResponse(status: .init(code: status), headerFields: fields),
      request.method == .head ? nil : 0..<extent.count
    )
  }

  /// The 206 with these positions of the representation.
  private func part(_ range: Range<Int64>, _ fields: HTTPFields) -> (head: HTTPResponse, bytes: Range<Int64>?) {
    var fields = fields
    fields[.contentRange] = ContentRange(range, size: extent.size)?.description
    fields[.contentLength] = String(range.upperBound - range.lowerBound)
    // RFC 9530 §2: the stored one is of the whole content.
    if let digest = HTTPField.Name.contentDigest { fields[digest] = nil }
    var start: Int64 = 0
    if case .part(let stored, _) = extent { start = stored.lowerBound }
    return (
      HTTPResponse(status: .init(code: 206), headerFields: fields),
      (range.lowerBound - start)..<(range.upperBound - start)
    )
  }

  /// Returns `true` if the client has the stored content. RFC 9110 §13.2.2, RFC 9111 §4.3.2.
  private func isNotModified(for request: HTTPFields) -> Bool {
    // RFC 9110 §13.1.3: If-None-Match disables If-Modified-Since.
    if request.contains(.ifNoneMatch) {
      let tags = EntityTag.list(request[values: .ifNoneMatch])
      if tags == ["*"] { return true }
      return validators.etag.map { etag in tags.contains { EntityTag.matchesWeakly($0, etag) } } ?? false
    }
    let lines = request[values: .ifModifiedSince]
    guard lines.count == 1, let line = lines.first else { return false }
    // RFC 9111 §4.3.2: Date replaces an absent Last-Modified.
    guard let since = HTTPDate(line, now: times.response) else { return false }
    let modified = validators.lastModified.flatMap { HTTPDate($0, now: times.response) } ?? date
    return modified <= since
  }

  /// Returns `true` if the condition `If-Range` holds, or is absent. RFC 9110 §13.1.5.
  func rangeApplies(_ request: HTTPFields) -> Bool {
    guard let condition = request[.ifRange]?.trimmingSpaces else { return true }
    if condition.hasPrefix("\"") || condition.hasPrefix("W/") {
      return validators.etag.map { EntityTag.matchesStrongly($0, condition) } ?? false
    }
    // RFC 9110 §8.8.2.2: a Last-Modified that equals Date is weak, since a second change in that second is possible.
    guard validators.lastModified == condition, let modified = HTTPDate(condition, now: times.response) else {
      return false
    }
    return modified < date
  }
}

// MARK: - Limits to the use of stored responses

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
    guard mayAsk, !CacheControl(request: request.headerFields).onlyIfCached else {
      return .gatewayTimeout(because: .unknownPurges)
    }
    return policy.validation(of: stored, for: request).map { .revalidate(stored, with: $0, because: .unknownPurges) }
      ?? .fetch(request, because: .unknownPurges)
  }
}
