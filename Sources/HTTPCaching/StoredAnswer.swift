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
    if isSuccess, Self.isNotModified(request.headerFields, stored) {
      fields = HTTPFields(fields.filter { Self.notModifiedFields.contains($0.name) || $0.name == .age })
      self.init(status: 304, fields: fields, body: .none)
      return
    }
    // RFC 9110 §14.2: Range applies if the response without it would be a 200 to GET.
    if stored.status == 200, request.method == .get, let wanted = RequestedRange(request.headerFields),
      Self.rangeApplies(request.headerFields, to: stored)
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

// MARK: - Conditions

/// Evaluation of a request's conditions against a stored response. RFC 9110 §13, RFC 9111 §4.3.2.
extension StoredAnswer {
  /// Returns `true` if the client has the stored content. RFC 9110 §13.2.2.
  private static func isNotModified(_ request: HTTPFields, _ stored: StoredResponse) -> Bool {
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

/// The validators of a response, exactly as the server sent them. RFC 9110 §8.8.
package struct Validators: Hashable, Sendable {
  /// The value of `ETag`, with quotes and `W/`.
  package var etag: String?
  /// The value of `Last-Modified`.
  package var lastModified: String?

  /// Creates validators from field values.
  ///
  /// - Parameters:
  ///   - etag: the value of `ETag`; `nil` for none.
  ///   - lastModified: the value of `Last-Modified`; `nil` for none.
  package init(etag: String? = nil, lastModified: String? = nil) {
    self.etag = etag
    self.lastModified = lastModified
  }

  /// Reads the validators of a response. An `ETag` that has another meaning in `If-None-Match`, `*` above all, is ignored.
  package init(of fields: HTTPFields) {
    let etag = fields[values: .eTag].first.flatMap { EntityTag.list([$0]) == [$0] && $0 != "*" ? $0 : nil }
    self.init(etag: etag, lastModified: fields[values: .lastModified].first)
  }

  /// `true` if there is neither an `ETag` nor a `Last-Modified`.
  package var isEmpty: Bool { etag == nil && lastModified == nil }

  /// The `ETag` if it is strong, that is, identifies identical bytes. RFC 9110 §8.8.3.
  package var strongETag: String? { etag.flatMap { EntityTag.isStrong($0) ? $0 : nil } }

  /// Returns the request with these validators as its conditions, in place of its own. Both are sent if both are known;
  /// servers that know ETags ignore the date. RFC 9111 §4.3.1.
  package func applied(to request: HTTPRequest) -> HTTPRequest {
    var request = request
    request.headerFields[.ifNoneMatch] = etag
    request.headerFields[.ifModifiedSince] = lastModified
    return request
  }

  /// Returns `true` if the validators of a new response belong to other content. RFC 9111 §4.3.4.
  ///
  /// ETags decide if both have one; a strong one matches only itself. Otherwise dates must be equal, since a server that
  /// was rolled back sends an earlier one. A strong ETag without a counterpart belongs to other content. A response
  /// without validators does not contradict.
  package func contradict(_ new: Validators) -> Bool {
    if let etag, let other = new.etag {
      return EntityTag.isStrong(other)
        ? !EntityTag.matchesStrongly(etag, other) : !EntityTag.matchesWeakly(etag, other)
    }
    if let lastModified, let other = new.lastModified { return lastModified != other }
    return new.strongETag != nil
  }
}

/// Comparison of entity tags. RFC 9110 §8.8.3.2.
package enum EntityTag {
  /// Returns `true` if the tag has the form of a strong one: quoted, without `W/`.
  package static func isStrong(_ tag: String) -> Bool {
    let bytes = tag.utf8
    return bytes.count >= 2 && bytes.first == UInt8(ascii: "\"") && bytes.last == UInt8(ascii: "\"")
  }

  /// Weak comparison, byte by byte: equivalent Unicode sequences are different.
  package static func matchesWeakly(_ left: String, _ right: String) -> Bool {
    opaque(left).elementsEqual(opaque(right))
  }

  /// Strong comparison.
  package static func matchesStrongly(_ left: String, _ right: String) -> Bool {
    isStrong(left) && left.utf8.elementsEqual(right.utf8)
  }

  private static func opaque(_ tag: String) -> Substring.UTF8View {
    tag.utf8.dropFirst(tag.utf8.starts(with: "W/".utf8) ? 2 : 0)
  }

  /// Returns the members of `If-None-Match`. Commas inside quotes do not separate.
  package static func list(_ lines: [String]) -> [String] {
    var tags: [String] = []
    for line in lines {
      var current: [UInt8] = []
      var isQuoted = false
      func flush() {
        let text = String(decoding: current, as: UTF8.self).trimmingSpaces
        if !text.isEmpty { tags.append(text) }
        current = []
      }
      for byte in line.utf8 {
        if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
        if byte == UInt8(ascii: ","), !isQuoted { flush() } else { current.append(byte) }
      }
      flush()
    }
    return tags
  }
}
