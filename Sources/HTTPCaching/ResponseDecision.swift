import HTTPTypes

/// The action that a cache takes for an origin's response. RFC 9111 §4.3.3.
///
/// ``CachePolicy/storage(of:to:received:)`` says for ``use`` if the response may be stored.
public enum ResponseDecision: Equatable, Sendable {
  /// Answer with the origin's response.
  case use
  /// Answer from the stored response, and store it with these fields and the times of this exchange. RFC 9111 §4.3.4.
  case freshen(StoredResponse, fields: HTTPFields)
  /// Append the received bytes to the stored part, and answer with both, under these fields; the total is the size of
  /// the whole representation in bytes. RFC 9111 §3.4.
  case append(StoredResponse, fields: HTTPFields, total: Int64?)
  /// Send the given request without conditions: the response does not fit the stored one.
  case askAgain(HTTPRequest)
  /// Answer from the stale stored response instead of the origin's error. RFC 5861 §4.
  case serveStale(StoredResponse, because: ServeReason)
}

// MARK: - Deciding

extension CachePolicy {
  /// Decides how an origin's response is used. RFC 9111 §4.3.3.
  ///
  ///     switch policy.decision(on: response, to: conditional, for: request, validating: stored, at: now) {
  ///     case .use: print("answer with", response)
  ///     case .freshen(let stored, let fields): print("answer from", stored.id, "and store it with", fields)
  ///     case .append(let part, let fields, let total): print("append to", part.id, fields, total ?? 0)
  ///     case .askAgain(let request): print("send", request)
  ///     case .serveStale(let stored, let why): print("answer from", stored.id, why.rawValue)
  ///     }
  ///
  /// - Parameters:
  ///   - response: the head of the origin's response.
  ///   - sent: the request as it went to the origin.
  ///   - original: the client's request. Only for GET and HEAD a stored response may replace an error.
  ///   - stored: the stored response that `sent` validates or completes, or that may replace an error; `nil` for none.
  ///   - now: the time of the decision.
  ///   - rule: the caller's own limit to freshness lifetimes.
  public func decision(
    on response: HTTPResponse, to sent: HTTPRequest, for original: HTTPRequest, validating stored: StoredResponse?,
    at now: HTTPDate, lifetime rule: LifetimeRule = .server
  ) -> ResponseDecision {
    guard let stored else { return .use }
    let isCompleting = Self.isCompleting(sent, original)
    switch response.status.code {
    case 304:
      guard Self.isValidating(stored, sent) else {
        // The 304 is for the client's own condition. If the request had none, the 304 is invalid.
        let isConditional = sent.headerFields.contains(.ifNoneMatch) || sent.headerFields.contains(.ifModifiedSince)
        return isConditional ? .use : .askAgain(Self.unconditional(original))
      }
      // RFC 9111 §4.3.4: only a response with the same validator may be updated.
      let contradicts = stored.validators.contradict(Validators(of: response.headerFields))
      return contradicts
        ? .askAgain(Self.unconditional(original))
        : .freshen(stored, fields: updatedFields(of: stored.fields, by: response.headerFields, at: now))
    case 206 where isCompleting:
      return append(response, to: stored, at: now) ?? .askAgain(original)
    case 416 where isCompleting:
      return .askAgain(original)
    case 500...599:
      // RFC 5861 §4 names 500, 502, 503 and 504; the other statuses are permanent.
      guard [500, 502, 503, 504].contains(response.status.code), mayAnswerError(stored, original, now, rule) else {
        return .use
      }
      return .serveStale(stored, because: .ifError)
    default:
      return .use
    }
  }

  /// Decides if a stored response may answer when the exchange with the origin failed without a response.
  /// RFC 9111 §4.2.4.
  ///
  /// - Parameters:
  ///   - stored: the stored response that the request selects.
  ///   - request: the client's request. No rule permits an answer to other methods than GET and HEAD. `If-Match` and
  ///     `If-Unmodified-Since` do not count, which RFC 9110 §13.1.1 and §13.1.4 leave to caches.
  ///   - now: the time of the decision.
  ///   - rule: the caller's own limit to freshness lifetimes.
  /// - Returns: the rule that permits it; `nil` if none does.
  public func fallback(
    to stored: StoredResponse, for request: HTTPRequest, at now: HTTPDate, lifetime rule: LifetimeRule = .server
  ) -> ServeReason? {
    guard Self.isAnswerable(request.method), stored.extent.isWhole else { return nil }
    if mayAnswerError(stored, request, now, rule) { return .ifError }
    let asked = CacheControl(request: request.headerFields)
    // RFC 5861 §4: stale-if-error is a limit, and it was exceeded.
    guard (asked.staleIfError ?? stored.control.staleIfError) == nil else { return nil }
    // The request may insist on validation. A response without lifetime and validator is not used by itself.
    let insists = asked.noCache != nil || asked.maxAge != nil || asked.minFresh != nil
    let isKnown = Freshness(of: stored, at: now, rule: rule).isKnown || !stored.validators.isEmpty
    return mayBeStale(stored) && !insists && isKnown ? .disconnected : nil
  }

  /// RFC 5861 §4: both a request and a response may have the directive.
  private func mayAnswerError(
    _ stored: StoredResponse, _ request: HTTPRequest, _ now: HTTPDate, _ rule: LifetimeRule
  ) -> Bool {
    guard Self.isAnswerable(request.method), mayBeStale(stored), stored.extent.isWhole else { return false }
    let window = CacheControl(request: request.headerFields).staleIfError ?? stored.control.staleIfError
    return window.map { -Freshness(of: stored, at: now, rule: rule).remaining <= $0 } ?? false
  }

  /// Returns `true` if the conditions of the request are those of the stored response, and not of the client's own copy.
  /// RFC 9111 §4.3.1.
  private static func isValidating(_ stored: StoredResponse, _ sent: HTTPRequest) -> Bool {
    let validators = stored.validators
    return !validators.isEmpty && sent.headerFields[.ifNoneMatch] == validators.etag
      && sent.headerFields[.ifModifiedSince] == validators.lastModified
  }

  private static func isCompleting(_ sent: HTTPRequest, _ original: HTTPRequest) -> Bool {
    sent.headerFields.contains(.range) && !original.headerFields.contains(.range)
  }

  /// RFC 9110 §15.3.7.3: only parts with the same strong validator may be combined. The new part must contain all missing
  /// bytes.
  private func append(_ response: HTTPResponse, to stored: StoredResponse, at now: HTTPDate) -> ResponseDecision? {
    let new = response.headerFields
    guard case .part(let held, let size) = stored.extent,
      let range = ContentRange(new[.contentRange]), range.first == held.upperBound,
      size == nil || range.size == nil || range.size == size,
      let total = range.size ?? size, range.last + 1 == total,
      let etag = stored.validators.strongETag, let other = new[.eTag], EntityTag.matchesStrongly(etag, other),
      new[.contentEncoding] ?? stored.fields[.contentEncoding] == stored.fields[.contentEncoding]
    else { return nil }
    let fields = updatedFields(of: stored.fields, by: new, at: now)
    return .append(stored, fields: fields, total: total)
  }

  /// The client's request without conditions and ranges, so that a response with 304 or 206 is impossible. Its caching
  /// directives stay, and `no-cache` is added.
  package static func unconditional(_ request: HTTPRequest) -> HTTPRequest {
    var request = request
    request.headerFields[.ifNoneMatch] = nil
    request.headerFields[.ifModifiedSince] = nil
    request.headerFields[.ifRange] = nil
    request.headerFields[.range] = nil
    request.headerFields.append(HTTPField(name: .cacheControl, value: "no-cache"))
    return request
  }

  /// Decides how the response to a HEAD request changes a stored response to GET. Only a 200 changes it.
  /// RFC 9111 §4.3.5.
  ///
  /// - Parameters:
  ///   - stored: the stored response to GET.
  ///   - response: the head of the response to HEAD.
  ///   - now: when the response to HEAD arrived.
  /// - Returns: the updated fields of the stored response; `nil` if the HEAD response is about other content, so that
  ///   the stored response must be validated before its next use.
  public func freshening(of stored: StoredResponse, byHead response: HTTPResponse, at now: HTTPDate) -> HTTPFields? {
    let new = Validators(of: response.headerFields)
    let dateMatches = new.lastModified.map { $0 == stored.validators.lastModified } ?? true
    guard response.status == .ok, stored.status == 200, !stored.validators.contradict(new), dateMatches,
      Self.lengthMatches(response.headerFields[.contentLength], stored.extent)
    else { return nil }
    return updatedFields(of: stored.fields, by: response.headerFields, at: now)
  }

  private static func lengthMatches(_ field: String?, _ extent: Extent) -> Bool {
    guard let field, let size = extent.size else { return true }
    return field.trimmingSpaces == String(size)
  }
}

// MARK: - Updated fields

extension CachePolicy {
  /// The fields of a stored response after a newer head of the same content. RFC 9111 §3.2.
  ///
  /// - Parameters:
  ///   - stored: the fields that are stored.
  ///   - new: the fields of the newer head.
  func updatedFields(of stored: HTTPFields, by new: HTTPFields, at now: HTTPDate) -> HTTPFields {
    let storable = storedFields(of: new, received: now)
    let replaced = Set(storable.map(\.name)).subtracting(Self.fieldsOfStoredBytes)
    var result = HTTPFields()
    // The Age field of the previous exchange is obsolete.
    for field in stored where !replaced.contains(field.name) && field.name != .age { result.append(field) }
    for field in storable where !Self.fieldsOfStoredBytes.contains(field.name) { result.append(field) }
    // A cookie in a 304 is for one client, the stored response is for all.
    if !mayKeepCookies { result[values: .setCookie] = [] }
    // A field list in no-cache or private applies to the fields of both heads.
    return restricted(result)
  }

  /// Fields that describe the stored bytes, and therefore stay.
  private static let fieldsOfStoredBytes = Set(
    [HTTPField.Name.contentLength, .contentEncoding, .contentRange]
      + [HTTPField.Name.contentDigest].compactMap(\.self))
}
