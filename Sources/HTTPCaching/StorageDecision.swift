import HTTPTypes

/// Whether a response may be kept, and what of it. RFC 9111 §3.
public enum StorageDecision: Equatable, Sendable {
  /// With the response's fields that may be stored, as an answer of this status. RFC 9111 §3.1.
  case store(status: Int, HTTPFields)
  /// The same for a part of a representation. RFC 9111 §3.3.
  case storePart(ContentRange, HTTPFields)
  case refuse(Refusal)

  /// Why a response is not kept.
  public enum Refusal: String, Hashable, Sendable {
    case method = "answers to this method are not kept"
    case interim = "an interim answer is none"
    case notUnderstood = "the status is not understood"
    case requestNoStore = "the request says no-store"
    case responseNoStore = "the response says no-store"
    case isPrivate = "the response is private"
    case setsCookie = "the response sets a cookie, which is for one client alone"
    case authorized = "the request was authorised, and the response does not allow sharing"
    case varies = "the response says Vary: *"
    case nothingAllows = "nothing makes the status cacheable"

    /// Where the rule stands.
    public var clause: String {
      switch self {
      case .requestNoStore: "RFC 9111 §5.2.1.5"
      case .responseNoStore: "RFC 9111 §5.2.2.5"
      case .isPrivate: "RFC 9111 §5.2.2.7"
      case .setsCookie: "RFC 9111 §7.3"
      case .authorized: "RFC 9111 §3.5"
      case .varies: "RFC 9111 §4.1"
      case .method, .interim, .notUnderstood, .nothingAllows: "RFC 9111 §3"
      }
    }
  }
}

// MARK: - Deciding

extension CachePolicy {
  /// RFC 9110 §15.1 and the redirects: statuses whose caching requirements are implemented.
  static let understoodStatuses: Set<Int> = [
    200, 203, 204, 206, 300, 301, 302, 303, 307, 308, 400, 404, 405, 410, 414, 451, 500, 501, 502, 503, 504,
  ]

  /// Whether the response to a request may be kept.
  ///
  /// What has neither a lifetime nor a validator is kept too: it is not used again by the RFC's rules, but it is there
  /// when there is no origin.
  ///
  /// - Parameter received: when it came.
  public func storage(of response: HTTPResponse, to request: HTTPRequest, received: HTTPDate) -> StorageDecision {
    let status = response.status.code
    let fields = response.headerFields
    let asked = RequestControl(request.headerFields).directives
    let responseControl = ResponseControl(of: fields, policy: self)
    let control = responseControl.directives
    let isUnderstood = Self.understoodStatuses.contains(status)

    if request.method != .get, !isAnswerToGet(response, to: request, responseControl) { return .refuse(.method) }
    if status < 200 { return .refuse(.interim) }
    // RFC 9111 §3: a 304 changes what is stored, it is not kept itself; must-understand names all others. Neither are
    // answers to conditions and ranges, which say nothing to a request without them.
    if [304, 412, 416].contains(status) || control.mustUnderstand && !isUnderstood { return .refuse(.notUnderstood) }
    if asked.noStore { return .refuse(.requestNoStore) }
    if forbidsStoring(control, status) { return .refuse(.responseNoStore) }
    // RFC 9111 §4.1: it would never be selected again.
    if VaryKey.isUnmatchable(fields) { return .refuse(.varies) }
    if mode == .shared {
      if control.isPrivate == .response { return .refuse(.isPrivate) }
      if request.headerFields.contains(.authorization), !allowsSharingAuthorized(control) {
        return .refuse(.authorized)
      }
    }
    guard isExplicitlyCacheable(responseControl, fields) || FreshnessLifetime.heuristicStatuses.contains(status) else {
      return .refuse(.nothingAllows)
    }
    var kept = StoredFields.of(fields, policy: self, received: received)
    // RFC 9111 §5.2.2.4: without the cookie where the response names the field in no-cache or private.
    if !mayKeepCookies, kept.contains(.setCookie) { return .refuse(.setsCookie) }
    guard status == 206 else { return .store(status: status, kept) }
    guard let range = ContentRange(fields[.contentRange]), request.headerFields.contains(.range) else {
      return .refuse(.notUnderstood)
    }
    kept[.contentRange] = nil
    kept[.contentLength] = range.size.map { String($0) }
    return .storePart(range, kept)
  }

  /// Whether what is stored may stay: a confirmation may have brought a directive that forbids it. Until it is removed,
  /// it is not used without asking. RFC 9111 §5.2.2.5, §5.2.2.7.
  public func mayBeKept(_ stored: StoredResponse) -> Bool {
    !forbidsStoring(stored.control, stored.status) && (mode == .private || stored.control.isPrivate != .response)
      && (mayKeepCookies || !stored.fields.contains(.setCookie))
  }

  var mayKeepCookies: Bool { mode == .private || sharesCookies }

  /// RFC 9111 §5.2.2.3: who understands the status ignores the no-store beside must-understand.
  private func forbidsStoring(_ control: CacheControl, _ status: Int) -> Bool {
    control.noStore && !(control.mustUnderstand && Self.understoodStatuses.contains(status))
  }

  /// RFC 9111 §3.5.
  private func allowsSharingAuthorized(_ control: CacheControl) -> Bool {
    control.isPublic || control.mustRevalidate || control.sharedMaxAge != nil
  }

  private func isExplicitlyCacheable(_ control: ResponseControl, _ fields: HTTPFields) -> Bool {
    hasLifetime(control, fields) || control.directives.isPublic
      || mode == .private && control.directives.isPrivate != nil
  }

  /// RFC 9111 §4.2.1.
  private func hasLifetime(_ control: ResponseControl, _ fields: HTTPFields) -> Bool {
    control.directives.maxAge != nil || mode == .shared && control.directives.sharedMaxAge != nil
      || fields.contains(.expires) && !control.isTargeted
  }

  /// RFC 9110 §9.3.3: a POST whose answer says that it is what a GET would give, and for how long.
  private func isAnswerToGet(_ response: HTTPResponse, to request: HTTPRequest, _ control: ResponseControl) -> Bool {
    guard request.method == .post, response.status == .ok, let location = response.headerFields[.contentLocation],
      let path = request.path
    else { return false }
    let url = "\(request.scheme ?? "http")://\(request.authority ?? "")\(path)"
    return (location == path || location == url) && hasLifetime(control, response.headerFields)
  }
}

// MARK: - Stored fields

/// Which fields of a response are kept. RFC 9111 §3.1.
enum StoredFields {
  static func of(_ fields: HTTPFields, policy: CachePolicy, received: HTTPDate) -> HTTPFields {
    // RFC 9110 §7.6.1: what is meant for everybody never concerns the connection alone.
    let left = HopByHopFields.names(in: fields).subtracting(policy.targets.map(\.canonicalName))
    var kept = HTTPFields()
    for field in restricted(fields, policy: policy) where !left.contains(field.name.canonicalName) {
      kept.append(field)
    }
    // RFC 9110 §6.6.1: what comes without a date gets that of its arrival.
    if !kept.contains(.date) { kept[.date] = received.description }
    return kept
  }

  /// Without the fields that may not be used again without asking: they are not kept in the first place.
  /// RFC 9111 §5.2.2.4, §5.2.2.7.
  static func restricted(_ fields: HTTPFields, policy: CachePolicy) -> HTTPFields {
    let control = ResponseControl(of: fields, policy: policy).directives
    var left: Set<String> = []
    if case .fields(let names) = control.noCache { left.formUnion(names) }
    if policy.mode == .shared, case .fields(let names) = control.isPrivate { left.formUnion(names) }
    return left.isEmpty ? fields : HTTPFields(fields.filter { !left.contains($0.name.canonicalName) })
  }
}

// MARK: - Hop-by-hop fields

/// Fields that concern one connection, and go no further. RFC 9110 §7.6.1.
package enum HopByHopFields {
  /// RFC 9112 §9, and those that concern a proxy.
  private static let names: Set<String> = [
    "connection", "proxy-connection", "keep-alive", "te", "transfer-encoding", "upgrade", "trailer",
    "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
  ]

  /// The names of those that these fields have, in small letters; also what `Connection` lists.
  package static func names(in fields: HTTPFields) -> Set<String> {
    var found = names
    for value in fields[values: .connection] {
      found.formUnion(value.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }).map { $0.lowercased() })
    }
    // What is meant for everybody never concerns the connection alone.
    found.remove("cache-control")
    return found
  }

  /// The other fields.
  package static func removed(from fields: HTTPFields) -> HTTPFields {
    let names = names(in: fields)
    return HTTPFields(fields.filter { !names.contains($0.name.canonicalName) })
  }
}
