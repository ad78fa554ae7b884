import HTTPCaching
import HTTPTransport
import HTTPTypes
import Hummingbird
import NIOCore

/// The response to a request for a representation.
struct ContentAnswer {
  let representation: Representation
  let mediaType: String
  /// The value of `Cache-Control`.
  let caching: String
  /// The value of `Last-Modified`; `nil` to leave it out.
  let modified: HTTPDate?
  /// `true` if the representation depends on the dictionary that a request offers.
  var hasDeltas = false
  /// The URLs for which the content is a dictionary, as a pattern; `nil` if it is none.
  var dictionaryFor: String?

  /// Larger bodies are sent in pieces, as the client reads them.
  private static let pieceSize = 256 << 10

  func response(to request: HTTPRequest, now: HTTPDate) -> Response {
    let size = representation.size
    let decision = ServingDecision(
      request.headerFields, method: request.method, etag: representation.etag, modified: modified, size: Int64(size),
      now: now)
    var fields = shared
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
      describe(&fields)
      fields[.contentRange] = ContentRange(range, size: Int64(size)).description
      return response(.partialContent, fields, Int(range.lowerBound)..<Int(range.upperBound), to: request)
    case .whole:
      describe(&fields)
      if let name = ServedFields.contentMD5 { fields[name] = representation.contentMD5 }
      return response(.ok, fields, 0..<size, to: request)
    }
  }

  /// The number of bytes that a response to GET did not send, and the reason: `not_modified`, `range`, `delta`,
  /// `encoding`.
  ///
  /// - Parameter size: the size of the content without an encoding.
  func saved(by response: Response, size: Int64) -> (how: String, bytes: Int)? {
    switch response.status {
    case .notModified: ("not_modified", representation.size)
    case .partialContent: ("range", representation.size - (response.body.contentLength ?? representation.size))
    case .ok where representation.encoding != nil:
      (representation.encoding == DictionaryZstd.token ? "delta" : "encoding", Int(size) - representation.size)
    default: nil
    }
  }

  /// RFC 9110 §15.4.5: the fields that a 304 has too. The policy is included for caches that stored a response without
  /// one.
  private var shared: HTTPFields {
    var fields: HTTPFields = [
      .eTag: representation.etag, .cacheControl: caching, .vary: ServedFields.vary(hasDeltas: hasDeltas),
    ]
    fields[.lastModified] = modified?.description
    fields[.contentSecurityPolicy] = ServedFields.documentPolicy
    // A script's media type holds, whatever its content looks like.
    fields[.xContentTypeOptions] = "nosniff"
    ServedFields.allowAnyOrigin(&fields)
    return fields
  }

  private func describe(_ fields: inout HTTPFields) {
    fields[.contentType] = mediaType
    fields[.acceptRanges] = "bytes"
    fields[.contentEncoding] = representation.encoding
    if let dictionaryFor, let name = HTTPField.Name.useAsDictionary { fields[name] = "match=\"\(dictionaryFor)\"" }
    if let name = ServedFields.reprDigest { fields[name] = representation.reprDigest }
  }

  private func response(
    _ status: HTTPResponse.Status, _ fields: HTTPFields, _ range: Range<Int>, to request: HTTPRequest
  ) -> Response {
    var fields = fields
    fields[.contentLength] = String(range.count)
    guard request.method != .head else { return Response(status: status, headers: fields) }
    guard range.count > Self.pieceSize else {
      return Response(status: status, headers: fields, body: ResponseBody(byteBuffer: slice(range)))
    }
    let body = ResponseBody(contentLength: range.count) { writer in
      var start = range.lowerBound
      while start < range.upperBound {
        let end = min(start + Self.pieceSize, range.upperBound)
        try await writer.write(slice(start..<end))
        start = end
      }
      try await writer.finish(nil)
    }
    return Response(status: status, headers: fields, body: body)
  }

  /// Returns a part of the body, which shares the representation's memory.
  private func slice(_ range: Range<Int>) -> ByteBuffer {
    representation.buffer.getSlice(at: representation.buffer.readerIndex + range.lowerBound, length: range.count)
      ?? ByteBuffer()
  }
}

extension ServedError {
  /// RFC 9110 §9.3.2: HEAD gets the header section alone.
  func response(to request: HTTPRequest) -> Response {
    request.method == .head ? response.createHeadResponse() : response
  }
}
