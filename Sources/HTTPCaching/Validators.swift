import HTTPTypes

/// The validators of a response, exactly as the server sent them. RFC 9110 §8.8.
///
///     let conditional = Validators(of: response.headerFields).applied(to: request)
///     print(conditional.headerFields[.ifNoneMatch] ?? "", conditional.headerFields[.ifModifiedSince] ?? "")
public struct Validators: Hashable, Sendable {
  /// The value of `ETag`, with quotes and `W/`.
  public var etag: String?
  /// The value of `Last-Modified`.
  public var lastModified: String?

  /// Creates validators from field values.
  ///
  /// - Parameters:
  ///   - etag: the value of `ETag`; `nil` for none.
  ///   - lastModified: the value of `Last-Modified`; `nil` for none.
  public init(etag: String? = nil, lastModified: String? = nil) {
    self.etag = etag
    self.lastModified = lastModified
  }

  /// Reads the validators of a response. An `ETag` that has another meaning in `If-None-Match`, `*` above all, is ignored.
  ///
  /// - Parameter fields: the fields of the response.
  public init(of fields: HTTPFields) {
    let etag = fields[values: .eTag].first.flatMap { EntityTag.list([$0]) == [$0] && $0 != "*" ? $0 : nil }
    self.init(etag: etag, lastModified: fields[values: .lastModified].first)
  }

  /// `true` if there is neither an `ETag` nor a `Last-Modified`.
  public var isEmpty: Bool { etag == nil && lastModified == nil }

  /// The `ETag` if it is strong, that is, identifies identical bytes. RFC 9110 §8.8.3.
  public var strongETag: String? { etag.flatMap { EntityTag.isStrong($0) ? $0 : nil } }

  /// Returns the request with these validators as its conditions, in place of its own. Both are sent if both are known;
  /// servers that know ETags ignore the date. RFC 9111 §4.3.1.
  ///
  /// - Parameter request: the client's request.
  public func applied(to request: HTTPRequest) -> HTTPRequest {
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
  ///
  /// - Parameter new: the validators of the new response.
  public func contradict(_ new: Validators) -> Bool {
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

// MARK: - 304 of a new response

extension HTTPResponse {
  /// Returns the 304 that replaces this 200 if the request's `If-None-Match` contains its `ETag`; otherwise `nil`.
  /// RFC 9110 §13.2.2.
  ///
  /// - Parameter request: the fields of the client's request.
  public func notModified(for request: HTTPFields) -> HTTPResponse? {
    guard status == .ok, let etag = headerFields[.eTag], request.contains(.ifNoneMatch) else { return nil }
    let tags = EntityTag.list(request[values: .ifNoneMatch])
    guard tags == ["*"] || tags.contains(where: { EntityTag.matchesWeakly($0, etag) }) else { return nil }
    let kept = headerFields.filter {
      StoredResponse.notModifiedFields.contains($0.name) || $0.name == .age || $0.name.canonicalName == "cache-status"
    }
    return HTTPResponse(status: .notModified, headerFields: HTTPFields(kept))
  }
}
