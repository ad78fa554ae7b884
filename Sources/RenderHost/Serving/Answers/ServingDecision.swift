import HTTPCaching
import HTTPTypes

/// The decision about a request for an available representation. RFC 9110 §13.2.2, §14.2.
enum ServingDecision: Hashable, Sendable {
  case whole
  case part(Range<Int64>)
  case notModified
  case preconditionFailed
  case rangeNotSatisfiable

  /// - Parameters:
  ///   - etag: a strong entity tag.
  ///   - modified: the modification date; `nil` if it is unknown: then no condition by date holds.
  ///   - now: decides the century of two-digit years.
  init(
    _ request: HTTPFields, method: HTTPRequest.Method, etag: String, modified: HTTPDate?, size: Int64, now: HTTPDate
  ) {
    if let failure = Self.failedCondition(request, etag: etag, modified: modified, now: now) {
      self = failure
      return
    }
    // RFC 9110 §14.2: ranges are defined for GET alone. A request for several ranges gets the whole, as §14.2 allows.
    guard method == .get, let wanted = RequestedRange(request),
      Self.rangeApplies(request, etag: etag, modified: modified, now: now)
    else {
      self = .whole
      return
    }
    if let range = wanted.resolved(in: size) {
      self = .part(range)
    } else {
      self = wanted.isSatisfiable(in: size) ? .whole : .rangeNotSatisfiable
    }
  }

  /// Returns the first failed condition. RFC 9110 §13.2.2: dates count only without tags.
  private static func failedCondition(
    _ request: HTTPFields, etag: String, modified: HTTPDate?, now: HTTPDate
  ) -> ServingDecision? {
    if request.contains(.ifMatch) {
      // RFC 9110 §13.1.1: strong comparison.
      let tags = EntityTag.list(request[values: .ifMatch])
      guard tags == ["*"] || tags.contains(where: { EntityTag.matchesStrongly($0, etag) }) else {
        return .preconditionFailed
      }
    } else if let since = date(request, .ifUnmodifiedSince, now: now), let modified, modified > since {
      return .preconditionFailed
    }
    if request.contains(.ifNoneMatch) {
      // RFC 9110 §13.1.2: weak comparison.
      let tags = EntityTag.list(request[values: .ifNoneMatch])
      return tags == ["*"] || tags.contains { EntityTag.matchesWeakly($0, etag) } ? .notModified : nil
    }
    // RFC 9110 §13.1.3 allows an exact match: after a rollback, the client's later date belongs to other bytes.
    if let since = date(request, .ifModifiedSince, now: now), since == modified { return .notModified }
    return nil
  }

  /// RFC 9110 §13.1.5: a tag is compared strongly, a date exactly.
  private static func rangeApplies(
    _ request: HTTPFields, etag: String, modified: HTTPDate?, now: HTTPDate
  ) -> Bool {
    let lines = request[values: .ifRange]
    guard let condition = lines.first else { return true }
    guard lines.count == 1 else { return false }
    if condition.contains("\"") { return EntityTag.list([condition]) == [etag] }
    // RFC 9110 §8.8.2.2: a date of the current second may stand for two contents.
    return modified.map { HTTPDate(condition, now: now) == $0 && $0 < now } ?? false
  }

  /// RFC 9110 §13.1.3, §13.1.4: a value other than one valid date is ignored.
  private static func date(_ request: HTTPFields, _ name: HTTPField.Name, now: HTTPDate) -> HTTPDate? {
    let lines = request[values: name]
    return lines.count == 1 ? HTTPDate(lines[0], now: now) : nil
  }
}
