import HTTPTypes

/// What an origin's answer means for what is stored. RFC 9111 §4.3.3.
public enum ResponseDecision: Equatable, Sendable {
  /// It is the answer.
  case use
  /// What is stored is the answer, with these fields. RFC 9111 §4.3.4.
  case freshen(StoredResponse, fields: HTTPFields)
  /// It goes on where the stored part ends: together they are the answer. RFC 9111 §3.4.
  case append(StoredResponse, fields: HTTPFields, total: Int64?)
  /// It cannot be true of what is stored: ask once more, without conditions.
  case askAgain(HTTPRequest)
  /// What is stored is the better answer. RFC 5861 §4.
  case serveStale(StoredResponse, because: ServeReason)
}

// MARK: - Deciding

extension CachePolicy {
  /// What an answer means.
  ///
  /// - Parameters:
  ///   - sent: the request as it went to the origin.
  ///   - original: the client's request.
  ///   - stored: what was validated or is to be completed, or what may stand for an error.
  public func decision(
    on response: HTTPResponse, to sent: HTTPRequest, for original: HTTPRequest, validating stored: StoredResponse?,
    at now: HTTPDate, lifetime rule: LifetimeRule = .server
  ) -> ResponseDecision {
    guard let stored else { return .use }
    let isCompleting = Self.isCompleting(sent, original)
    switch response.status.code {
    case 304:
      guard Self.isValidating(stored, sent) else {
        // The client's own condition holds; where the origin was not asked anything, its answer is none.
        let isConditional = sent.headerFields.contains(.ifNoneMatch) || sent.headerFields.contains(.ifModifiedSince)
        return isConditional ? .use : .askAgain(Self.unconditional(original))
      }
      // RFC 9111 §4.3.4: only what has the same validator may be updated.
      let contradicts = stored.validators.contradict(Validators(of: response.headerFields))
      return contradicts
        ? .askAgain(Self.unconditional(original))
        : .freshen(stored, fields: UpdatedFields.of(stored.fields, by: response.headerFields, at: now, policy: self))
    case 206 where isCompleting:
      return append(response, to: stored, at: now) ?? .askAgain(original)
    case 416 where isCompleting:
      return .askAgain(original)
    case 500...599:
      // RFC 5861 §4 counts 500, 502, 503 and 504; the others say that asking again will not help.
      guard [500, 502, 503, 504].contains(response.status.code), mayAnswerError(stored, original, now, rule) else {
        return .use
      }
      return .serveStale(stored, because: .ifError)
    default:
      return .use
    }
  }

  /// What may answer when the origin gives no answer at all; nil for nothing. RFC 9111 §4.2.4.
  public func staleAnswer(
    to request: HTTPRequest, from stored: StoredResponse, at now: HTTPDate, lifetime rule: LifetimeRule = .server
  ) -> ServeReason? {
    guard stored.extent.isWhole else { return nil }
    if mayAnswerError(stored, request, now, rule) { return .ifError }
    let asked = RequestControl(request.headerFields).directives
    // RFC 5861 §4: who names a limit to what may answer an error does not want it exceeded.
    guard (asked.staleIfError ?? stored.control.staleIfError) == nil else { return nil }
    // A client that insists on the origin's word does not want less; nor may what tells no lifetime be used by itself.
    let insists = asked.noCache != nil || asked.maxAge != nil || asked.minFresh != nil
    let isKnown = Freshness(of: stored, at: now, rule: rule).isKnown || !stored.validators.isEmpty
    return mayBeStale(stored) && !insists && isKnown ? .disconnected : nil
  }

  /// RFC 5861 §4; the directive may stand in the request too.
  private func mayAnswerError(
    _ stored: StoredResponse, _ request: HTTPRequest, _ now: HTTPDate, _ rule: LifetimeRule
  ) -> Bool {
    guard mayBeStale(stored), stored.extent.isWhole else { return false }
    let window = RequestControl(request.headerFields).directives.staleIfError ?? stored.control.staleIfError
    return window.map { -Freshness(of: stored, at: now, rule: rule).remaining <= $0 } ?? false
  }

  /// Whether the request asks about what is stored, and not about what the client has. RFC 9111 §4.3.1.
  private static func isValidating(_ stored: StoredResponse, _ sent: HTTPRequest) -> Bool {
    let validators = stored.validators
    return !validators.isEmpty && sent.headerFields[.ifNoneMatch] == validators.etag
      && sent.headerFields[.ifModifiedSince] == validators.lastModified
  }

  private static func isCompleting(_ sent: HTTPRequest, _ original: HTTPRequest) -> Bool {
    sent.headerFields.contains(.range) && !original.headerFields.contains(.range)
  }

  /// RFC 9110 §15.3.7.3: only parts with the same strong validator belong together. The new one must be all that is
  /// missing.
  private func append(_ response: HTTPResponse, to stored: StoredResponse, at now: HTTPDate) -> ResponseDecision? {
    let new = response.headerFields
    guard case .part(let held, let size) = stored.extent,
      let range = ContentRange(new[.contentRange]), range.first == held.upperBound,
      size == nil || range.size == nil || range.size == size,
      let total = range.size ?? size, range.last == total - 1,
      let etag = stored.validators.strongETag, let other = new[.eTag], EntityTag.matchesStrongly(etag, other),
      new[.contentEncoding] ?? stored.fields[.contentEncoding] == stored.fields[.contentEncoding]
    else { return nil }
    let fields = UpdatedFields.of(stored.fields, by: new, at: now, policy: self)
    return .append(stored, fields: fields, total: total)
  }

  /// The client's request, with nothing that could be answered by 304 or a part. What it says of caching stays.
  package static func unconditional(_ request: HTTPRequest) -> HTTPRequest {
    var request = request
    request.headerFields[.ifNoneMatch] = nil
    request.headerFields[.ifModifiedSince] = nil
    request.headerFields[.ifRange] = nil
    request.headerFields[.range] = nil
    request.headerFields.append(HTTPField(name: .cacheControl, value: "no-cache"))
    return request
  }

  /// What a HEAD's answer means for what is stored for GET. RFC 9111 §4.3.5: only a 200 means anything.
  ///
  /// - Returns: the stored fields brought up to date; nil where it speaks of other content, so that what is stored is
  ///   to be asked about before it is used again.
  public func freshening(of stored: StoredResponse, byHead response: HTTPResponse, at now: HTTPDate) -> HTTPFields? {
    let new = Validators(of: response.headerFields)
    let dateMatches = new.lastModified.map { $0 == stored.validators.lastModified } ?? true
    guard response.status == .ok, stored.status == 200, !stored.validators.contradict(new), dateMatches,
      Self.lengthMatches(response.headerFields[.contentLength], stored.extent)
    else { return nil }
    return UpdatedFields.of(stored.fields, by: response.headerFields, at: now, policy: self)
  }

  private static func lengthMatches(_ field: String?, _ extent: Extent) -> Bool {
    guard let field, let size = extent.size else { return true }
    return field.trimmingSpaces == String(size)
  }
}

// MARK: - Updated fields

/// Stored fields brought up to date by a newer head of the same content. RFC 9111 §3.2.
enum UpdatedFields {
  /// What the stored bytes depend on.
  private static let bound: Set<HTTPField.Name> = [.contentLength, .contentEncoding, .contentRange]

  static func of(_ stored: HTTPFields, by new: HTTPFields, at now: HTTPDate, policy: CachePolicy) -> HTTPFields {
    let storable = StoredFields.of(new, policy: policy, received: now)
    let replaced = Set(storable.map(\.name)).subtracting(bound)
    var result = HTTPFields()
    // How old it was on its way the last time says nothing of now.
    for field in stored where !replaced.contains(field.name) && field.name != .age { result.append(field) }
    for field in storable where !bound.contains(field.name) { result.append(field) }
    // A cookie that comes with a confirmation is for one client, what is stored is for all.
    if !policy.mayKeepCookies { result[values: .setCookie] = [] }
    // Whichever of the two says that some fields may not be used again says so of both.
    return StoredFields.restricted(result, policy: policy)
  }
}
