import HTTPTypes

/// A request's conditions against a stored response. RFC 9110 §13, RFC 9111 §4.3.2.
enum Preconditions {
  /// Whether the client has what is stored. RFC 9110 §13.2.2.
  static func isNotModified(_ request: HTTPFields, _ stored: StoredResponse) -> Bool {
    let tags = EntityTag.list(request[values: .ifNoneMatch])
    if !tags.isEmpty {
      guard let etag = stored.validators.etag else { return tags.contains("*") }
      return tags.contains { $0 == "*" || EntityTag.matchesWeakly($0, etag) }
    }
    let lines = request[values: .ifModifiedSince]
    guard lines.count == 1, let line = lines.first else { return false }
    // RFC 9111 §4.3.2: without a Last-Modified the Date stands for it.
    guard let since = HTTPDate(line, now: stored.times.response) else { return false }
    let modified = stored.validators.lastModified.flatMap { HTTPDate($0, now: stored.times.response) } ?? stored.date
    return modified <= since
  }

  /// Whether a range is wanted of exactly what is stored. RFC 9110 §13.1.5.
  static func rangeApplies(_ request: HTTPFields, to stored: StoredResponse) -> Bool {
    guard let condition = request[.ifRange]?.trimmingSpaces else { return true }
    if condition.hasPrefix("\"") || condition.hasPrefix("W/") {
      return stored.validators.etag.map { EntityTag.matchesStrongly($0, condition) } ?? false
    }
    return stored.validators.lastModified == condition
  }
}
