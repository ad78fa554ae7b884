import HTTPTypes

/// Bytes that an origin serves at a path, with their conditional and partial responses.
///
/// It supports `HEAD`, `If-None-Match`, `If-Modified-Since`, one byte range, and `If-Range`.
package struct OriginContent: Sendable {
  let bytes: [UInt8]
  let headers: HTTPFields

  package init(
    _ bytes: [UInt8], contentType: String, etag: String? = nil, lastModified: String? = nil,
    headers: HTTPFields = [:]
  ) {
    self.bytes = bytes
    var fields: HTTPFields = [.contentType: contentType, .acceptRanges: "bytes"]
    fields[.eTag] = etag
    fields[.lastModified] = lastModified
    for field in headers { fields[values: field.name] = headers[values: field.name] }
    self.headers = fields
  }

  /// Returns the response to a request with this method and these fields.
  package func response(to method: HTTPRequest.Method, _ request: HTTPFields) -> OriginResponse {
    guard method == .get || method == .head else {
      var response = OriginResponse.plain(.methodNotAllowed, "only GET and HEAD\n")
      response.headers[.allow] = "GET, HEAD"
      return response
    }
    if isUnchanged(for: request) { return notModified }
    // RFC 9110 §14.2: only GET has ranges.
    guard method == .get, let range = request[.range].flatMap(ByteRange.init), allowsRange(request) else {
      return OriginResponse(status: .ok, headers: headers, bytes: bytes[...])
    }
    return partial(range)
  }

  /// Returns the response with one range of the bytes.
  func partial(_ range: ByteRange) -> OriginResponse {
    guard let positions = range.positions(in: bytes.count) else {
      var response = OriginResponse.plain(.rangeNotSatisfiable, "")
      response.headers[.contentRange] = "bytes */\(bytes.count)"
      return response
    }
    return OriginResponse(status: .ok, headers: headers, bytes: bytes[...]).slice(positions)
  }

  // RFC 9110 §15.4.5: the fields by which a cache updates its copy, without those that describe the content.
  private var notModified: OriginResponse {
    var fields = headers
    for name: HTTPField.Name in [.contentType, .contentEncoding, .contentLanguage, .contentLength, .acceptRanges] {
      fields[name] = nil
    }
    return OriginResponse(status: .notModified, headers: fields)
  }

  private func isUnchanged(for request: HTTPFields) -> Bool {
    // RFC 9110 §13.2.2: If-Modified-Since counts only without If-None-Match.
    if let tags = request[.ifNoneMatch] {
      return tags == "*" || headers[.eTag].map { EntityTag.list(tags, contains: $0) } ?? false
    }
    // RFC 9110 §13.1.3 compares dates; like many servers, this one accepts only the exact date that it has sent.
    guard let date = request[.ifModifiedSince] else { return false }
    return date == headers[.lastModified]
  }

  private func allowsRange(_ request: HTTPFields) -> Bool {
    guard let validator = request[.ifRange] else { return true }
    // RFC 9110 §13.1.5: a strong comparison, which a weak tag never passes.
    if validator.hasSuffix("\"") { return !validator.hasPrefix("W/") && validator == headers[.eTag] }
    return validator == headers[.lastModified]
  }
}

/// Comparison of entity tags.
enum EntityTag {
  /// Returns `true` if an `If-None-Match` list contains the tag. RFC 9110 §8.8.3.2: the weak comparison ignores `W/`.
  static func list(_ list: String, contains tag: String) -> Bool {
    opaqueTags(list).contains { opaqueTags(tag).first == $0 } || list == tag
  }

  /// The texts between quotes; a text may contain commas.
  private static func opaqueTags(_ text: String) -> [Substring] {
    let pieces = text.split(separator: "\"", omittingEmptySubsequences: false)
    return stride(from: 1, to: pieces.count - 1, by: 2).map { pieces[$0] }
  }
}

extension OriginResponse {
  /// Returns a 206 with these positions of a whole response. RFC 9110 §15.3.7.
  func slice(_ positions: Range<Int>) -> OriginResponse {
    let start = bytes.startIndex
    var slice = self
    slice.status = .partialContent
    slice.bytes = bytes[start + positions.lowerBound..<start + positions.upperBound]
    slice.headers[.contentRange] = "bytes \(positions.lowerBound)-\(positions.upperBound - 1)/\(bytes.count)"
    return slice
  }
}
