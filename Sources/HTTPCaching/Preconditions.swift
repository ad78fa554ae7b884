import HTTPTypes

/// A request's conditions against a stored response. RFC 9110 §13, RFC 9111 §4.3.2.
enum Preconditions {
  /// Whether the client has what is stored. RFC 9110 §13.2.2.
  static func isNotModified(_ request: HTTPFields, _ stored: StoredResponse) -> Bool {
    // RFC 9110 §13.1.3: whatever it says, the date does not count beside it.
    if request.contains(.ifNoneMatch) {
      let tags = EntityTag.list(request[values: .ifNoneMatch])
      if tags == ["*"] { return true }
      return stored.validators.etag.map { etag in tags.contains { EntityTag.matchesWeakly($0, etag) } } ?? false
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
    // RFC 9110 §8.8.2.2: what was changed in the second of its answer may have been changed again in the same one.
    guard stored.validators.lastModified == condition,
      let modified = HTTPDate(condition, now: stored.times.response)
    else { return false }
    return modified < stored.date
  }
}
