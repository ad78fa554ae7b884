import HTTPTypes

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
