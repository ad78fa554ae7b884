import HTTPTypes

/// The answer to a request from a stored response, with regard to the request's conditions and range: 200, 206, 304 or
/// 416. RFC 9111 §4, §4.3.2.
package struct StoredAnswer: Equatable, Sendable {
  /// The content of the answer.
  package enum Body: Equatable, Sendable {
    /// No content.
    case none
    /// These positions of the stored bytes.
    case bytes(Range<Int64>)
  }

  /// The head, with `Age`.
  package let head: HTTPResponse
  /// The content.
  package let body: Body

  /// The fields of a 200 that its 304 repeats, and `Via`. RFC 9110 §15.4.5.
  static let notModifiedFields: Set<HTTPField.Name> = [
    .cacheControl, .contentLocation, .date, .eTag, .expires, .vary, .lastModified, .via,
  ]

  /// Creates the answer.
  ///
  /// - Parameters:
  ///   - request: the client's request.
  ///   - stored: the stored response, as ``CacheDecision`` selected it.
  ///   - age: its age in seconds, for the `Age` field. RFC 9111 §5.1.
  package init(to request: HTTPRequest, from stored: StoredResponse, age: Int64) {
    var fields = stored.fields
    fields[.age] = String(age)
    let isSuccess = (200..<300).contains(stored.status)
    if isSuccess, Preconditions.isNotModified(request.headerFields, stored) {
      fields = HTTPFields(fields.filter { Self.notModifiedFields.contains($0.name) || $0.name == .age })
      self.init(status: 304, fields: fields, body: .none)
      return
    }
    // RFC 9110 §14.2: Range applies if the response without it would be a 200 to GET.
    if stored.status == 200, request.method == .get, let wanted = RequestedRange(request.headerFields),
      Preconditions.rangeApplies(request.headerFields, to: stored)
    {
      if let range = stored.extent.covering(wanted) {
        self.init(part: range, of: stored, fields: fields)
        return
      }
      if case .whole(let size) = stored.extent, !wanted.isSatisfiable(in: size) {
        // The other stored fields describe the 200. A 416 must not inherit its lifetime.
        fields = HTTPFields(fields.filter { [.date, .age, .via].contains($0.name) })
        fields[.contentRange] = "bytes */\(size)"
        self.init(status: 416, fields: fields, body: .none)
        return
      }
    }
    // RFC 9111 §3.3: a stored part is never sent as a whole representation.
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
    // RFC 9530 §2: the stored one is of the whole content.
    if let digest = HTTPField.Name.contentDigest { fields[digest] = nil }
    self.init(status: 206, fields: fields, body: .bytes(stored.offset(of: range)))
  }

  private init(status: Int, fields: HTTPFields, body: Body) {
    head = HTTPResponse(status: .init(code: status), headerFields: fields)
    self.body = body
  }
}

extension StoredResponse {
  /// The positions of the representation's bytes in the stored bytes.
  fileprivate func offset(of range: Range<Int64>) -> Range<Int64> {
    guard case .part(let stored, _) = extent else { return range }
    return (range.lowerBound - stored.lowerBound)..<(range.upperBound - stored.lowerBound)
  }
}

// MARK: - Preconditions

/// Evaluation of a request's conditions against a stored response. RFC 9110 §13, RFC 9111 §4.3.2.
enum Preconditions {
  /// Returns `true` if the client has the stored content. RFC 9110 §13.2.2.
  static func isNotModified(_ request: HTTPFields, _ stored: StoredResponse) -> Bool {
    // RFC 9110 §13.1.3: If-None-Match disables If-Modified-Since.
    if request.contains(.ifNoneMatch) {
      let tags = EntityTag.list(request[values: .ifNoneMatch])
      if tags == ["*"] { return true }
      return stored.validators.etag.map { etag in tags.contains { EntityTag.matchesWeakly($0, etag) } } ?? false
    }
    let lines = request[values: .ifModifiedSince]
    guard lines.count == 1, let line = lines.first else { return false }
    // RFC 9111 §4.3.2: Date replaces an absent Last-Modified.
    guard let since = HTTPDate(line, now: stored.times.response) else { return false }
    let modified = stored.validators.lastModified.flatMap { HTTPDate($0, now: stored.times.response) } ?? stored.date
    return modified <= since
  }

  /// Returns `true` if the condition `If-Range` holds, or is absent. RFC 9110 §13.1.5.
  static func rangeApplies(_ request: HTTPFields, to stored: StoredResponse) -> Bool {
    guard let condition = request[.ifRange]?.trimmingSpaces else { return true }
    if condition.hasPrefix("\"") || condition.hasPrefix("W/") {
      return stored.validators.etag.map { EntityTag.matchesStrongly($0, condition) } ?? false
    }
    // RFC 9110 §8.8.2.2: a Last-Modified that equals Date is weak, since a second change in that second is possible.
    guard stored.validators.lastModified == condition,
      let modified = HTTPDate(condition, now: stored.times.response)
    else { return false }
    return modified < stored.date
  }
}

// MARK: - 304 of a new response

extension HTTPResponse {
  /// Returns the 304 that replaces this 200 if the request's `If-None-Match` contains its `ETag`; otherwise `nil`.
  /// RFC 9110 §13.2.2.
  ///
  /// - Parameter request: the fields of the request.
  package func notModified(for request: HTTPFields) -> HTTPResponse? {
    guard status == .ok, let etag = headerFields[.eTag], request.contains(.ifNoneMatch) else { return nil }
    let tags = EntityTag.list(request[values: .ifNoneMatch])
    guard tags == ["*"] || tags.contains(where: { EntityTag.matchesWeakly($0, etag) }) else { return nil }
    let kept = headerFields.filter {
      StoredAnswer.notModifiedFields.contains($0.name) || $0.name == .age || $0.name.canonicalName == "cache-status"
    }
    return HTTPResponse(status: .notModified, headerFields: HTTPFields(kept))
  }
}
