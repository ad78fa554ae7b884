import HTTPCaching
import HTTPTransport
import HTTPTypes
import Hummingbird
import NIOCore

/// A content that is served, and the responses to requests for its representations.
struct ContentResponse: Sendable {
  let content: ServedContent
  /// The value of `Cache-Control`.
  var caching = ServedFields.revalidated
  /// The time since which it is served here; `nil` if it is unknown.
  var modified: HTTPDate?
  /// The URLs for which the content is a dictionary, as a pattern; `nil` if it is none.
  var dictionaryFor: String?

  /// Larger bodies are sent in pieces, as the client reads them.
  private static let pieceSize = 256 << 10

  func response(with representation: Representation, to request: HTTPRequest, now: HTTPDate) -> Response {
    let size = representation.size
    // RFC 9110 §8.8.2.1: it must not be later than the response's own date, which is up to a second late.
    let modified = modified.flatMap { $0 < now ? $0 : nil }
    let decision = ServingDecision(
      request.headerFields, method: request.method, etag: representation.etag, modified: modified, size: Int64(size),
      now: now)
    var fields = shared(representation, modified)
    switch decision {
    case .notModified:
      var response = Response(status: .notModified, headers: fields)
      // RFC 9110 §8.6: it would be the length of a 200 response.
      response.headers[.contentLength] = nil
      return response
    case .preconditionFailed:
      return ServedError(
        status: .preconditionFailed,
        reason: "the content does not match the request's condition: its tag is \(representation.etag)",
        fields: fields
      ).response(to: request)
    case .rangeNotSatisfiable:
      fields[.contentRange] = "bytes */\(size)"
      return ServedError(
        status: .rangeNotSatisfiable, reason: "the range is outside the content of \(size) bytes", fields: fields
      ).response(to: request)
    case .part(let range):
      describe(representation, in: &fields)
      fields[.contentRange] = ContentRange(range, size: Int64(size))?.description
      return Self.response(
        .partialContent, fields, representation.buffer, Int(range.lowerBound)..<Int(range.upperBound), to: request)
    case .whole:
      describe(representation, in: &fields)
      if let name = ServedFields.contentMD5 { fields[name] = representation.contentMD5 }
      return Self.response(.ok, fields, representation.buffer, 0..<size, to: request)
    }
  }

  /// The number of bytes that a response to GET did not send, and the reason: `not_modified`, `range`, `delta`,
  /// `encoding`.
  func saved(by response: Response, with representation: Representation) -> (how: String, bytes: Int)? {
    switch response.status {
    case .notModified: ("not_modified", representation.size)
    case .partialContent: ("range", representation.size - (response.body.contentLength ?? representation.size))
    case .ok where representation.encoding != nil:
      (
        representation.encoding == DictionaryZstd.token ? "delta" : "encoding",
        Int(content.digests.size) - representation.size
      )
    default: nil
    }
  }

  /// RFC 9110 §15.4.5: the fields that a 304 has too. The policy is included for caches that stored a response without
  /// one.
  private func shared(_ representation: Representation, _ modified: HTTPDate?) -> HTTPFields {
    var fields: HTTPFields = [
      .eTag: representation.etag, .cacheControl: caching, .vary: ServedFields.vary(hasDeltas: !content.isMade),
    ]
    fields[.lastModified] = modified?.description
    fields[.contentSecurityPolicy] = ServedFields.documentPolicy
    // A script's media type holds, whatever its content looks like.
    fields[.xContentTypeOptions] = "nosniff"
    ServedFields.allowAnyOrigin(&fields)
    return fields
  }

  private func describe(_ representation: Representation, in fields: inout HTTPFields) {
    fields[.contentType] = content.mediaType
    fields[.acceptRanges] = "bytes"
    fields[.contentEncoding] = representation.encoding
    if let dictionaryFor, let name = HTTPField.Name.useAsDictionary { fields[name] = "match=\"\(dictionaryFor)\"" }
    if let name = ServedFields.reprDigest { fields[name] = representation.reprDigest }
  }

  private static func response(
    _ status: HTTPResponse.Status, _ fields: HTTPFields, _ bytes: ByteBuffer, _ range: Range<Int>,
    to request: HTTPRequest
  ) -> Response {
    // A part of the body shares the representation's memory.
    @Sendable func slice(_ range: Range<Int>) -> ByteBuffer {
      bytes.getSlice(at: bytes.readerIndex + range.lowerBound, length: range.count) ?? ByteBuffer()
    }
    var fields = fields
    fields[.contentLength] = String(range.count)
    guard request.method != .head else { return Response(status: status, headers: fields) }
    guard range.count > pieceSize else {
      return Response(status: status, headers: fields, body: ResponseBody(byteBuffer: slice(range)))
    }
    let body = ResponseBody(contentLength: range.count) { writer in
      var start = range.lowerBound
      while start < range.upperBound {
        let end = min(start + pieceSize, range.upperBound)
        try await writer.write(slice(start..<end))
        start = end
      }
      try await writer.finish(nil)
    }
    return Response(status: status, headers: fields, body: body)
  }
}

extension ServedError {
  /// RFC 9110 §9.3.2: HEAD gets the header section alone.
  func response(to request: HTTPRequest) -> Response {
    request.method == .head ? response.createHeadResponse() : response
  }
}

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
