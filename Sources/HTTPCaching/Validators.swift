import HTTPTypes

/// An `ETag` and a `Last-Modified`, exactly as the server sent them. RFC 9110 §8.8.
public struct Validators: Hashable, Sendable {
  public var etag: String?
  public var lastModified: String?

  public init(etag: String? = nil, lastModified: String? = nil) {
    self.etag = etag
    self.lastModified = lastModified
  }

  public init(of fields: HTTPFields) {
    self.init(etag: fields[values: .eTag].first, lastModified: fields[values: .lastModified].first)
  }

  public var isEmpty: Bool { etag == nil && lastModified == nil }

  /// An ETag that stands for identical bytes. RFC 9110 §8.8.3.
  public var strongETag: String? { etag.flatMap { EntityTag.isWeak($0) ? nil : $0 } }

  /// Makes a request ask whether these are still valid, instead of whatever it asked before. Both go where both are
  /// there: who knows ETags ignores the date. RFC 9111 §4.3.1.
  public func applied(to request: HTTPRequest) -> HTTPRequest {
    var request = request
    request.headerFields[.ifNoneMatch] = etag
    request.headerFields[.ifModifiedSince] = lastModified
    return request
  }

  /// Whether what a server says now speaks of other content than these. An ETag decides where both have one; without
  /// any, dates must be equal: a server that was rolled back has an earlier one.
  public func contradict(_ new: Validators) -> Bool {
    if let etag, let other = new.etag { return !EntityTag.matchesWeakly(etag, other) }
    guard etag == nil, new.etag == nil, let lastModified, let other = new.lastModified else { return false }
    return lastModified != other
  }
}

/// Comparison of entity tags. RFC 9110 §8.8.3.2.
enum EntityTag {
  static func isWeak(_ tag: String) -> Bool { tag.hasPrefix("W/") }

  static func opaque(_ tag: some StringProtocol) -> Substring {
    Substring(tag.hasPrefix("W/") ? tag.dropFirst(2) : tag.dropFirst(0))
  }

  static func matchesWeakly(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
    opaque(left) == opaque(right)
  }

  static func matchesStrongly(_ left: String, _ right: String) -> Bool { !isWeak(left) && left == right }

  /// The members of `If-None-Match`; commas may be inside the quotes.
  static func list(_ lines: [String]) -> [String] {
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
