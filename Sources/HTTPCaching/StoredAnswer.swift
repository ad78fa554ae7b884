import HTTPTypes

/// What a client gets of a stored response: its conditions and its range are heeded. RFC 9111 §4, §4.3.2.
public struct StoredAnswer: Equatable, Sendable {
  public enum Body: Equatable, Sendable {
    case none
    /// Positions in the stored bytes.
    case bytes(Range<Int64>)
  }

  /// With the `Age` at the time.
  public let head: HTTPResponse
  public let body: Body

  /// RFC 9110 §15.4.5: what a 304 has of the fields that a 200 would have had, and by which way it came.
  static let notModifiedFields: Set<HTTPField.Name> = [
    .cacheControl, .contentLocation, .date, .eTag, .expires, .vary, .lastModified, .via,
  ]

  public init(to request: HTTPRequest, from stored: StoredResponse, age: Int64) {
    var fields = stored.fields
    fields[.age] = String(age)
    let isSuccess = (200..<300).contains(stored.status)
    if isSuccess, Preconditions.isNotModified(request.headerFields, stored) {
      fields = HTTPFields(fields.filter { Self.notModifiedFields.contains($0.name) || $0.name == .age })
      self.init(status: 304, fields: fields, body: .none)
      return
    }
    // RFC 9110 §14.2: a range is one of what would be a 200 to GET.
    if stored.status == 200, request.method == .get, let wanted = RequestedRange(request.headerFields),
      Preconditions.rangeApplies(request.headerFields, to: stored)
    {
      if let range = stored.extent.covering(wanted) {
        self.init(part: range, of: stored, fields: fields)
        return
      }
      if case .whole(let size) = stored.extent, !wanted.isSatisfiable(in: size) {
        // Nothing else of the stored fields speaks of this answer: nobody may keep it for a lifetime.
        fields = HTTPFields(fields.filter { [.date, .age, .via].contains($0.name) })
        fields[.contentRange] = "bytes */\(size)"
        self.init(status: 416, fields: fields, body: .none)
        return
      }
    }
    // RFC 9111 §3.3: a part is never given away as though it were the whole.
    if request.method == .get, case .part(let range, _) = stored.extent, !range.isEmpty {
      self.init(part: range, of: stored, fields: fields)
      return
    }
    self.init(
      status: stored.status, fields: fields,
      body: request.method == .head ? .none : .bytes(0..<stored.extent.count))
  }

  private init(part range: Range<Int64>, of stored: StoredResponse, fields: HTTPFields) {
    var fields = fields
    fields[.contentRange] = ContentRange(range, size: stored.extent.size).description
    fields[.contentLength] = String(range.upperBound - range.lowerBound)
    self.init(status: 206, fields: fields, body: .bytes(stored.offset(of: range)))
  }

  private init(status: Int, fields: HTTPFields, body: Body) {
    head = HTTPResponse(status: .init(code: status), headerFields: fields)
    self.body = body
  }
}

extension StoredResponse {
  /// Where bytes of the representation are in what is stored.
  fileprivate func offset(of range: Range<Int64>) -> Range<Int64> {
    guard case .part(let stored, _) = extent else { return range }
    return (range.lowerBound - stored.lowerBound)..<(range.upperBound - stored.lowerBound)
  }
}

// MARK: - Preconditions

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

// MARK: - 304 of a new response

extension HTTPResponse {
  /// The 304 for who has what this 200 brings, by its `ETag`; nil for who has not, or has not asked. RFC 9110 §13.2.2.
  public func notModified(for request: HTTPFields) -> HTTPResponse? {
    guard status == .ok, let etag = headerFields[.eTag], request.contains(.ifNoneMatch) else { return nil }
    let tags = EntityTag.list(request[values: .ifNoneMatch])
    guard tags == ["*"] || tags.contains(where: { EntityTag.matchesWeakly($0, etag) }) else { return nil }
    let kept = headerFields.filter {
      StoredAnswer.notModifiedFields.contains($0.name) || $0.name == .age || $0.name.canonicalName == "cache-status"
    }
    return HTTPResponse(status: .notModified, headerFields: HTTPFields(kept))
  }
}
