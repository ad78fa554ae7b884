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
      return tags == "*" || headers[.eTag].map { Self.list(tags, contains: $0) } ?? false
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

// MARK: Entity tags

extension OriginContent {
  /// Returns `true` if an `If-None-Match` list contains the tag. RFC 9110 §8.8.3.2: the weak comparison ignores `W/`.
  private static func list(_ list: String, contains tag: String) -> Bool {
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

/// Values by path pattern; the most specific pattern that matches a request applies.
///
/// From the most to the least specific: a path with its query (`/a.js?v=1`), a path (`/a.js`, with any query), a prefix
/// (`/api/*`), longer ones first.
extension Dictionary where Key == String {
  func value(for target: String) -> Value? { pattern(for: target).flatMap { self[$0] } }

  /// Returns the pattern that applies to a request.
  func pattern(for target: String) -> String? {
    if self[target] != nil { return target }
    let path = target.withoutQuery
    if self[path] != nil { return path }
    return keys.filter { $0.isPrefixPattern && $0.matches(target: target) }
      .max { $0.utf8.count < $1.utf8.count }
  }
}

/// Patterns have three forms: `/a.js?v=1`, `/a.js`, and `/api/*`.
extension String {
  fileprivate var isPrefixPattern: Bool { hasSuffix("*") }

  /// The target without its query.
  fileprivate var withoutQuery: String { firstIndex(of: "?").map { String(self[..<$0]) } ?? self }

  /// Returns `true` if the pattern matches a request's target.
  func matches(target: String) -> Bool {
    if isPrefixPattern { return target.hasPrefix(dropLast()) }
    return self == target || self == target.withoutQuery
  }
}

/// A request as the origin received it.
public struct OriginRequest: Hashable, Sendable {
  /// The index among all requests of the origin, from 0.
  public internal(set) var index = 0
  /// The number of its connection, from 0. Requests on the same connection have the same number.
  public internal(set) var connection = 0
  /// The method.
  public let method: HTTPRequest.Method
  /// The request target as received: the path with its query.
  public let path: String
  /// The fields as received.
  public internal(set) var headers: HTTPFields
  /// The body up to the limit of ``FaultOrigin/start(port:recordedBodyBytes:on:)``.
  public internal(set) var body: [UInt8] = []
  /// The size of the whole body in bytes.
  public internal(set) var bodySize = 0
  /// The trailer fields of a chunked body.
  public internal(set) var trailers = HTTPFields()
  /// The time at which the head had arrived.
  public let began: ContinuousClock.Instant
  /// `true` if the client wants to reuse the connection.
  let isPersistent: Bool
  let isHTTP10: Bool

  /// The recorded body as text.
  public var text: String { String(decoding: body, as: UTF8.self) }
}

/// A response of a ``FaultOrigin`` before faults are applied.
///
/// The origin adds `Content-Length` and the fields of the connection.
public struct OriginResponse: Hashable, Sendable {
  /// The status.
  public var status: HTTPResponse.Status
  /// The fields.
  public var headers: HTTPFields
  /// The body; not sent for `HEAD`, nor with a status without content.
  public var body: [UInt8] {
    get { Array(bytes) }
    set { bytes = newValue[...] }
  }

  /// The body as a slice, so that a range of a large body shares its memory.
  package var bytes: ArraySlice<UInt8>

  /// Creates a response.
  ///
  /// - Parameters:
  ///   - status: the status; 200 by default.
  ///   - headers: the fields.
  ///   - body: the content.
  public init(
    status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], body: some Sequence<UInt8> = [UInt8]()
  ) {
    self.init(status: status, headers: headers, bytes: Array(body)[...])
  }

  package init(status: HTTPResponse.Status, headers: HTTPFields, bytes: ArraySlice<UInt8>) {
    self.status = status
    self.headers = headers
    self.bytes = bytes
  }

  /// A response with plain text.
  static func plain(_ status: HTTPResponse.Status, _ text: String) -> OriginResponse {
    OriginResponse(status: status, headers: [.contentType: "text/plain; charset=utf-8"], body: text.utf8)
  }
}
