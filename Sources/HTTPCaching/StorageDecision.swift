import HTTPTypes

/// The decision of a cache about storing a response. RFC 9111 §3.
public enum StorageDecision: Equatable, Sendable {
  /// Store the body with this status and these fields; fields that may not be stored are absent. RFC 9111 §3.1.
  case store(status: Int, HTTPFields)
  /// Store the body as this part of a representation, with these fields. RFC 9111 §3.3.
  case storePart(ContentRange, HTTPFields)
  /// Do not store the response.
  case refuse(Refusal)

  /// The rule that forbids storing a response. The raw value is a clause for logs.
  public enum Refusal: String, Hashable, Sendable {
    /// Responses to the request's method are not cacheable here.
    case method = "responses to this method are not stored"
    /// The status is 1xx.
    case interim = "an interim response is not stored"
    /// The status is 304, 412, 416 or above 599, or the response has `must-understand` and an unknown status, or it is a
    /// 206 that does not fit its request.
    case notUnderstood = "the status is not understood"
    /// The request has `no-store`.
    case requestNoStore = "the request says no-store"
    /// The response has `no-store`.
    case responseNoStore = "the response says no-store"
    /// The response has `private`, and the cache is shared.
    case isPrivate = "the response is private"
    /// The response has `Set-Cookie`, and the cache is shared.
    case setsCookie = "the response sets a cookie, which is for one client alone"
    /// The request has `Authorization`, the cache is shared, and no directive of the response allows sharing.
    case authorized = "the request was authorised, and the response does not allow sharing"
    /// The response has `Vary: *`.
    case varies = "the response says Vary: *"
    /// The response has no lifetime, and its status is not heuristically cacheable.
    case nothingAllows = "nothing makes the status cacheable"
    /// The response has more or longer tags than ``CacheTags`` keeps, and the cache is shared.
    case tags = "it has more or longer tags than are kept, so that a purge by one of them would miss it"

    /// `true` if the response forbids storing, whatever was asked.
    package var isForAll: Bool {
      switch self {
      case .responseNoStore, .isPrivate, .setsCookie, .varies, .tags: true
      case .method, .interim, .notUnderstood, .requestNoStore, .authorized, .nothingAllows: false
      }
    }

    /// The section of the RFC that contains the rule.
    public var clause: String {
      switch self {
      case .requestNoStore: "RFC 9111 §5.2.1.5"
      case .responseNoStore: "RFC 9111 §5.2.2.5"
      case .isPrivate: "RFC 9111 §5.2.2.7"
      case .setsCookie: "RFC 9111 §7.3"
      case .authorized: "RFC 9111 §3.5"
      case .varies: "RFC 9111 §4.1"
      case .method, .interim, .notUnderstood, .nothingAllows, .tags: "RFC 9111 §3"
      }
    }
  }
}

// MARK: - Deciding

extension CachePolicy {
  /// The statuses whose caching requirements are implemented: those of RFC 9110 §15.1, redirects and errors.
  static let understoodStatuses: Set<Int> = [
    200, 203, 204, 206, 300, 301, 302, 303, 307, 308, 400, 404, 405, 410, 414, 451, 500, 501, 502, 503, 504,
  ]

  /// Decides if a response may be stored. RFC 9111 §3.
  ///
  ///     switch policy.storage(of: response, to: request, received: now) {
  ///     case .store(let status, let fields): print("store the body under", status, fields)
  ///     case .storePart(let range, let fields): print("store the bytes", range.range, "under", fields)
  ///     case .refuse(let rule): print("not stored:", rule.rawValue, rule.clause)
  ///     }
  ///
  /// A response with neither a lifetime nor a validator is stored too. The rules of the RFC forbid its reuse without the
  /// origin, but an app may show it while it is offline.
  ///
  /// - Parameters:
  ///   - response: the head of the origin's response.
  ///   - request: the request as the client sent it.
  ///   - received: when the response arrived.
  /// - Returns: the status and fields to store, with a `Date`; or the rule that forbids storing.
  public func storage(of response: HTTPResponse, to request: HTTPRequest, received: HTTPDate) -> StorageDecision {
    let status = response.status.code
    let fields = response.headerFields
    let asked = CacheControl(request: request.headerFields)
    let (control, isTargeted) = self.control(of: fields)
    let isUnderstood = Self.understoodStatuses.contains(status)

    if request.method != .get, !isResponseToGet(response, to: request, control, isTargeted: isTargeted) {
      return .refuse(.method)
    }
    if status < 200 { return .refuse(.interim) }
    // RFC 9111 §3: a 304 updates a stored response and is not stored itself. 412 and 416 answer a condition or a range,
    // and would be wrong for a request without it. must-understand requires a known status.
    if [304, 412, 416].contains(status) || control.mustUnderstand && !isUnderstood { return .refuse(.notUnderstood) }
    // RFC 9110 §15: a status above 599 is invalid, and counts as an error of the server.
    if status > 599 { return .refuse(.notUnderstood) }
    if asked.noStore { return .refuse(.requestNoStore) }
    if forbidsStoring(control, status) { return .refuse(.responseNoStore) }
    // RFC 9111 §4.1: no request would ever select it.
    if VaryKey.isUnmatchable(fields) { return .refuse(.varies) }
    if mode == .shared {
      if !CacheTags.areAllKept(fields) { return .refuse(.tags) }
      if control.isPrivate == .response { return .refuse(.isPrivate) }
      if request.headerFields.contains(.authorization), !allowsSharingAuthorized(control) {
        return .refuse(.authorized)
      }
    }
    guard
      isExplicitlyCacheable(control, isTargeted: isTargeted, fields)
        || FreshnessLifetime.heuristicStatuses.contains(status)
    else {
      return .refuse(.nothingAllows)
    }
    var kept = storedFields(of: fields, received: received)
    // RFC 9111 §5.2.2.4: no-cache and private may name Set-Cookie; it is then not among the stored fields.
    if !mayKeepCookies, kept.contains(.setCookie) { return .refuse(.setsCookie) }
    guard status == 206 else { return .store(status: status, kept) }
    guard let range = ContentRange(fields[.contentRange]), request.headerFields.contains(.range) else {
      return .refuse(.notUnderstood)
    }
    kept[.contentRange] = nil
    kept[.contentLength] = range.size.map { String($0) }
    // RFC 9530 §2: it speaks of the bytes of this message alone.
    if let digest = HTTPField.Name.contentDigest { kept[digest] = nil }
    return .storePart(range, kept)
  }

  /// Returns `false` if a stored response must be removed: a 304 may have brought a directive that forbids storing it,
  /// or `Vary: *`. Until its removal, it is not used without validation. RFC 9111 §4.1, §5.2.2.5, §5.2.2.7.
  public func mayBeKept(_ stored: StoredResponse) -> Bool {
    stored.isSelectable && !forbidsStoring(stored.control, stored.status)
      && (mode == .private || stored.control.isPrivate != .response && stored.areTagsKept)
      && (mayKeepCookies || !stored.fields.contains(.setCookie))
  }

  var mayKeepCookies: Bool { mode == .private || sharesCookies }

  /// RFC 9111 §5.2.2.3: must-understand with a known status cancels no-store.
  private func forbidsStoring(_ control: CacheControl, _ status: Int) -> Bool {
    control.noStore && !(control.mustUnderstand && Self.understoodStatuses.contains(status))
  }

  /// RFC 9111 §3.5.
  private func allowsSharingAuthorized(_ control: CacheControl) -> Bool {
    control.isPublic || control.mustRevalidate || control.sharedMaxAge != nil
  }

  private func isExplicitlyCacheable(_ control: CacheControl, isTargeted: Bool, _ fields: HTTPFields) -> Bool {
    hasLifetime(control, isTargeted: isTargeted, fields) || control.isPublic
      || mode == .private && control.isPrivate != nil
  }

  /// RFC 9111 §4.2.1.
  private func hasLifetime(_ control: CacheControl, isTargeted: Bool, _ fields: HTTPFields) -> Bool {
    control.maxAge != nil || mode == .shared && control.sharedMaxAge != nil
      || fields.contains(.expires) && !isTargeted
  }

  /// RFC 9110 §9.3.3: a response to POST that represents the target URL, and has an explicit lifetime.
  private func isResponseToGet(
    _ response: HTTPResponse, to request: HTTPRequest, _ control: CacheControl, isTargeted: Bool
  ) -> Bool {
    guard request.method == .post, response.status == .ok, let location = response.headerFields[.contentLocation],
      let path = request.path
    else { return false }
    let url = "\(request.scheme ?? "http")://\(request.authority ?? "")\(path)"
    return (location == path || location == url)
      && hasLifetime(control, isTargeted: isTargeted, response.headerFields)
  }
}

// MARK: - Stored fields

extension CachePolicy {
  /// The fields of a response that a cache stores. RFC 9111 §3.1.
  func storedFields(of fields: HTTPFields, received: HTTPDate) -> HTTPFields {
    // RFC 9110 §7.6.1: Connection must not name a field for all recipients, such as a targeted one.
    var kept = HopByHopFields.removed(from: restricted(fields), except: targets)
    // RFC 9110 §6.6.1: the time of arrival replaces an absent Date.
    if !kept.contains(.date) { kept[.date] = received.description }
    // They stay in memory for long: without room for more, which is half of what growing fields take.
    var exact = HTTPFields()
    exact.reserveCapacity(kept.count)
    for field in kept { exact.append(field) }
    return exact
  }

  /// The fields without those that no-cache or private names: these must not be reused without validation, and are not
  /// stored. RFC 9111 §5.2.2.4, §5.2.2.7.
  package func restricted(_ fields: HTTPFields) -> HTTPFields {
    let control = self.control(of: fields).directives
    var left: Set<String> = []
    if case .fields(let names) = control.noCache { left.formUnion(names) }
    if mode == .shared, case .fields(let names) = control.isPrivate { left.formUnion(names) }
    return left.isEmpty ? fields : HTTPFields(fields.filter { !left.contains($0.name.canonicalName) })
  }
}

// MARK: - Hop-by-hop fields

/// Fields that are for one connection only, and are not forwarded. RFC 9110 §7.6.1.
///
/// ``CachePolicy/storage(of:to:received:)`` leaves them out already; a proxy removes them from what it passes on, too.
public enum HopByHopFields {
  /// The fields of RFC 9110 §7.6.1 and RFC 9112 §9, and those for a proxy.
  private static let names: FieldNames = [
    "connection", "proxy-connection", "keep-alive", "te", "transfer-encoding", "upgrade", "trailer",
    "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
  ]

  /// Values of `Connection` that list no field.
  private static let onlyConnection: Set<String> = ["close", "keep-alive"]

  /// Returns the fields that are not hop-by-hop: those above, and those that `Connection` lists.
  ///
  /// - Parameters:
  ///   - fields: the fields of a request or a response.
  ///   - exceptions: fields that `Connection` must not list, besides `Cache-Control`.
  public static func removed(from fields: HTTPFields, except exceptions: [HTTPField.Name] = []) -> HTTPFields {
    var listed: Set<String> = []
    if fields.contains(.connection) {
      for value in fields[values: .connection] where !onlyConnection.contains(value) {
        listed.formUnion(value.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }).map { $0.lowercased() })
      }
      // RFC 9110 §7.6.1: a sender must not list Cache-Control.
      if !listed.isEmpty { listed.subtract(["cache-control"] + exceptions.map(\.canonicalName)) }
    }
    func isForOneHop(_ field: HTTPField) -> Bool {
      let name = field.name.canonicalName
      return names.contains(name) || !listed.isEmpty && listed.contains(name)
    }
    guard fields.contains(where: isForOneHop) else { return fields }
    var left = HTTPFields()
    left.reserveCapacity(fields.count)
    for field in fields where !isForOneHop(field) { left.append(field) }
    return left
  }
}

/// A set of field names, which most other names are told apart from by their length alone.
package struct FieldNames: ExpressibleByArrayLiteral, Sendable {
  private let names: Set<String>
  /// The bit of each length that a name has, in bytes.
  private let lengths: UInt64

  /// - Parameter names: lower-case names of fewer than 64 bytes each.
  package init(arrayLiteral names: String...) {
    self.names = Set(names)
    lengths = names.reduce(0) { $0 | 1 << UInt64($1.utf8.count) }
  }

  /// - Parameter name: a lower-case name.
  package func contains(_ name: String) -> Bool {
    lengths & 1 << UInt64(name.utf8.count) != 0 && names.contains(name)
  }
}
