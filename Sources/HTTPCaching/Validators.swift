import HTTPTypes

/// An `ETag` and a `Last-Modified`, exactly as the server sent them. RFC 9110 §8.8.
public struct Validators: Hashable, Sendable {
  public var etag: String?
  public var lastModified: String?

  public init(etag: String? = nil, lastModified: String? = nil) {
    self.etag = etag
    self.lastModified = lastModified
  }

  /// An `ETag` that would mean something else in `If-None-Match`, `*` above all, is none.
  public init(of fields: HTTPFields) {
    let etag = fields[values: .eTag].first.flatMap { EntityTag.list([$0]) == [$0] && $0 != "*" ? $0 : nil }
    self.init(etag: etag, lastModified: fields[values: .lastModified].first)
  }

  public var isEmpty: Bool { etag == nil && lastModified == nil }

  /// An ETag that stands for identical bytes. RFC 9110 §8.8.3.
  public var strongETag: String? { etag.flatMap { EntityTag.isStrong($0) ? $0 : nil } }

  /// Makes a request ask whether these are still valid, instead of whatever it asked before. Both go where both are
  /// there: who knows ETags ignores the date. RFC 9111 §4.3.1.
  public func applied(to request: HTTPRequest) -> HTTPRequest {
    var request = request
    request.headerFields[.ifNoneMatch] = etag
    request.headerFields[.ifModifiedSince] = lastModified
    return request
  }

  /// Whether what a server says now speaks of other content than these. RFC 9111 §4.3.4.
  ///
  /// An ETag decides where both have one, and a strong one stands for nothing but itself; otherwise dates must be equal:
  /// a server that was rolled back has an earlier one. A strong ETag that nothing here corresponds to is of other
  /// content; what comes without any validator does not contradict.
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
  /// The grammar's form without `W/`.
  package static func isStrong(_ tag: String) -> Bool {
    let bytes = tag.utf8
    return bytes.count >= 2 && bytes.first == UInt8(ascii: "\"") && bytes.last == UInt8(ascii: "\"")
  }

  /// Byte by byte: characters that only look the same are not.
  package static func matchesWeakly(_ left: String, _ right: String) -> Bool {
    opaque(left).elementsEqual(opaque(right))
  }

  package static func matchesStrongly(_ left: String, _ right: String) -> Bool {
    isStrong(left) && left.utf8.elementsEqual(right.utf8)
  }

  private static func opaque(_ tag: String) -> Substring.UTF8View {
    tag.utf8.dropFirst(tag.utf8.starts(with: "W/".utf8) ? 2 : 0)
  }

  /// The members of `If-None-Match`; commas may be inside the quotes.
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
