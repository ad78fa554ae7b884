import HTTPTypes

extension CachePolicy {
  /// RFC 9110 §15.1 and the redirects: statuses whose caching requirements are implemented.
  static let understoodStatuses: Set<Int> = [
    200, 203, 204, 300, 301, 302, 303, 307, 308, 400, 404, 405, 410, 414, 451, 500, 501, 502, 503, 504,
  ]

  /// Whether the response to a request may be kept.
  public func storage(of response: HTTPResponse, to request: HTTPRequest) -> StorageDecision {
    let status = response.status.code
    let asked = CacheControl(request.headerFields[values: .cacheControl])
    let control = CacheControl(response.headerFields[values: .cacheControl])
    let isUnderstood = Self.understoodStatuses.contains(status)

    if request.method != .get { return .refuse(.method) }
    if status < 200 { return .refuse(.interim) }
    // RFC 9111 §3: 206 and 304 change what is stored, they are not kept themselves; must-understand names all others.
    if status == 206 || status == 304 || control.mustUnderstand && !isUnderstood { return .refuse(.notUnderstood) }
    if asked.noStore { return .refuse(.requestNoStore) }
    // RFC 9111 §5.2.2.3: who understands the status ignores the no-store beside must-understand.
    if control.noStore, !(control.mustUnderstand && isUnderstood) { return .refuse(.responseNoStore) }
    // RFC 9111 §4.1: it would never be selected again.
    if VaryKey.isUnmatchable(response.headerFields) { return .refuse(.varies) }
    if mode == .shared {
      if control.isPrivate == .response { return .refuse(.isPrivate) }
      if request.headerFields.contains(.authorization), !allowsSharingAuthorized(control) {
        return .refuse(.authorized)
      }
    }
    guard isExplicitlyCacheable(control, response) || FreshnessLifetime.heuristicStatuses.contains(status) else {
      return .refuse(.nothingAllows)
    }
    return .store(StoredFields.of(response.headerFields, control: control, mode: mode))
  }

  /// RFC 9111 §3.5.
  private func allowsSharingAuthorized(_ control: CacheControl) -> Bool {
    control.isPublic || control.mustRevalidate || control.sharedMaxAge != nil
  }

  private func isExplicitlyCacheable(_ control: CacheControl, _ response: HTTPResponse) -> Bool {
    control.isPublic || control.maxAge != nil || response.headerFields.contains(.expires)
      || (mode == .shared ? control.sharedMaxAge != nil : control.isPrivate != nil)
  }
}
