import HTTPTypes

/// A fault or a peculiarity of an origin's response.
///
/// Numbers of bytes count the body, without the head and the framing of chunks. A number beyond the end of the body
/// means its end. Unless stated otherwise, the origin first evaluates the client's conditions and ranges, and the fault
/// changes the resulting response.
///
///     origin.script("/home.js", [.status(503, retryAfter: "1"), .resetAfter(bytes: 1_000)])
///     origin.always("/logo.png", .delay(.seconds(2)))
public indirect enum Fault: Hashable, Sendable {
  /// The normal response.
  case normal

  // MARK: Other responses

  /// This status with a plain text, for every request.
  case status(Int, retryAfter: String? = nil, body: String = "")
  /// 200 with a page of HTML, as from a captive portal or a misconfigured server.
  case html(String)
  /// 200 with the normal fields and an empty body.
  case empty
  /// 200 with the normal fields, with the entity tag, and these bytes.
  case replace([UInt8])
  /// The normal response with one bit of this byte flipped, and the correct length.
  case corrupt(byteAt: Int)
  /// A redirection to this `Location`.
  case redirect(to: String, status: Int = 302)
  /// 304, with and without a condition in the request.
  case always304
  /// 200 with this `Content-Encoding` and these encoded bytes.
  case encoded(String, [UInt8])

  // MARK: Ranges

  /// 200 with the whole body in response to a range request.
  case ignoreRange
  /// 206 with another range than the requested one, and a `Content-Range` that is true of it.
  case wrongRange
  /// 206 with an entity tag of other content.
  case wrongETagOn206

  // MARK: Lengths and framing

  /// A `Content-Length` that exceeds the body by this number of bytes, then the end of the connection.
  case contentLengthTooLong(by: Int)
  /// A `Content-Length` that is this number of bytes too small, on a connection that stays open.
  case contentLengthTooShort(by: Int)
  /// The normal response in chunks.
  case chunked
  /// The normal response in chunks, with these trailer fields.
  case trailers(HTTPFields)
  /// This number of bytes in chunks, then the end of the connection without the last chunk.
  case cutChunked(after: Int)
  /// No length: the end of the connection is the end of the body, after this number of bytes or after all.
  case closeDelimited(cutAfter: Int? = nil)

  // MARK: Broken connections

  /// The whole length in the head, this number of bytes, then a reset of the connection (RST).
  case resetAfter(bytes: Int)
  /// A reset of the connection before the first byte.
  case resetBeforeHead
  /// An orderly end of the connection before the first byte.
  case closeBeforeHead

  // MARK: Time

  /// Another fault, or the normal response, after this time.
  case delay(Duration, then: Fault = .normal)
  /// The head at once, and the body at this speed.
  case drip(bytesPerSecond: Int)
  /// The head and this number of bytes, then silence until the client or the origin closes the connection.
  case stall(afterBytes: Int)
  /// Silence until the client or the origin closes the connection.
  case stallBeforeHead

  // MARK: Interim responses and malformed heads

  /// An interim response (such as 103) before the final one.
  case informational(Int, HTTPFields = [:], then: Fault = .normal)
  /// This text in place of the head, with the empty line that ends it, then the normal body and the end of the
  /// connection.
  case rawHead(String)
  /// Bytes that are not HTTP, then the end of the connection.
  case garbage
}

extension Fault {
  /// `false` for a fault that makes its whole response, so that no handler is called.
  var needsContent: Bool {
    switch self {
    case .status, .html, .redirect, .encoded, .resetBeforeHead, .closeBeforeHead, .stallBeforeHead, .garbage: false
    case .delay(_, let next), .informational(_, _, let next): next.needsContent
    default: true
    }
  }

  /// The request as the handler sees it: a server that ignores ranges does not read the field.
  func view(of request: OriginRequest) -> OriginRequest {
    var request = request
    switch self {
    case .delay(_, let next), .informational(_, _, let next):
      return next.view(of: request)
    case .ignoreRange:
      request.headers.removeFields([.range, .ifRange])
    case .wrongRange, .empty, .replace, .always304:
      request.headers.removeFields([.range, .ifRange, .ifNoneMatch, .ifModifiedSince])
    default:
      break
    }
    return request
  }

  /// Applies the fault to a response.
  func apply(to draft: inout ReplyDraft) {
    switch self {
    case .normal, .ignoreRange:
      break
    case .status(let code, let retryAfter, let body):
      draft.response = .plain(HTTPResponse.Status(clamping: code), body)
      draft.response.headers[.retryAfter] = retryAfter
    case .html(let text):
      draft.response = OriginResponse(headers: [.contentType: "text/html; charset=utf-8"], body: text.utf8)
    case .empty:
      draft.response.replaceBody([])
    case .replace(let bytes):
      draft.response.replaceBody(bytes)
    case .corrupt(let position):
      draft.response.flipBit(at: position)
    case .redirect(let location, let code):
      draft.response = .plain(HTTPResponse.Status(clamping: code), "")
      draft.response.headers[.location] = location
    case .always304:
      draft.response.status = .notModified
      draft.response.headers[.contentType] = nil
    case .encoded(let coding, let bytes):
      draft.response = OriginResponse(
        headers: [.contentType: "text/javascript", .contentEncoding: coding], body: bytes)
    case .wrongRange:
      draft.answerAnotherRange()
    case .wrongETagOn206:
      if draft.response.status == .partialContent { draft.response.headers[.eTag] = "\"not-this-one\"" }
    case .contentLengthTooLong(let bytes):
      draft.framing = .length(surplus: bytes)
      draft.breakOff(with: .close)
    case .contentLengthTooShort(let bytes):
      draft.framing = .length(surplus: -bytes)
    case .chunked:
      draft.framing = .chunked(trailers: [:], isTerminated: true)
    case .trailers(let fields):
      draft.framing = .chunked(trailers: fields, isTerminated: true)
    case .cutChunked(let bytes):
      draft.framing = .chunked(trailers: [:], isTerminated: false)
      draft.breakOff(after: bytes, with: .close)
    case .closeDelimited(let bytes):
      draft.framing = .untilClose
      draft.ending = .close
      draft.cut = bytes
      draft.isWhole = bytes == nil
    case .resetAfter(let bytes):
      draft.breakOff(after: bytes, with: .reset)
    case .resetBeforeHead:
      draft.saySilently(.reset)
    case .closeBeforeHead:
      draft.saySilently(.close)
    case .delay(let time, let next):
      draft.lead.append(.pause(time))
      next.apply(to: &draft)
    case .drip(let speed):
      draft.bytesPerSecond = speed
    case .stall(let bytes):
      draft.breakOff(after: bytes, with: .stall)
    case .stallBeforeHead:
      draft.saySilently(.stall)
    case .informational(let code, let fields, let next):
      draft.lead.append(.raw(fields.head(of: code)))
      next.apply(to: &draft)
    case .rawHead(let text):
      draft.head = Array(text.utf8)
      draft.breakOff(with: .close)
    case .garbage:
      draft.head = Self.noise
      draft.breakOff(after: 0, with: .close)
    }
  }

  private static let noise: [UInt8] = [0x16, 0x03, 0x01, 0x00, 0xFF, 0x00, 0x13, 0x37, 0x80, 0x0D, 0x0A, 0x0D, 0x0A]
}

extension ReplyDraft {
  /// Makes a 206 that begins one byte before the requested range, or one byte after it at the start of the body.
  fileprivate mutating func answerAnotherRange() {
    let size = response.bytes.count
    guard
      response.status == .ok, size > 1,
      let asked = request.headers[.range].flatMap(ByteRange.init)?.positions(in: size)
    else { return }
    let first = asked.lowerBound == 0 ? 1 : asked.lowerBound - 1
    response = response.slice(first..<max(first + 1, asked.upperBound))
  }
}

extension OriginResponse {
  fileprivate mutating func replaceBody(_ body: [UInt8]) {
    status = .ok
    bytes = body[...]
  }

  /// Flips the lowest bit of a byte, which turns a letter into another one.
  fileprivate mutating func flipBit(at position: Int) {
    guard !bytes.isEmpty else { return }
    let offset = min(max(0, position), bytes.count - 1)
    var changed = Array(bytes)
    changed[offset] ^= 1
    bytes = changed[...]
  }
}

extension HTTPResponse.Status {
  /// Makes the nearest code of three digits.
  fileprivate init(clamping code: Int) {
    self.init(code: min(max(code, 100), 999))
  }
}

extension HTTPFields {
  fileprivate mutating func removeFields(_ names: [HTTPField.Name]) {
    for name in names { self[name] = nil }
  }
}

/// The single range of a `Range` field. RFC 9110 §14.1.2.
package enum ByteRange: Hashable, Sendable {
  /// `a-`: from a position to the end.
  case from(Int)
  /// `a-b`, both ends included.
  case between(Int, Int)
  /// `-n`: the last n bytes.
  case suffix(Int)

  /// Returns `nil` for a field that a server may ignore: another unit, several ranges, or an invalid range.
  package init?(_ field: String) {
    let parts = field.split(separator: "=", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
    let ends = parts[1].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    switch (Self.number(ends[0]), Self.number(ends[1])) {
    case (let first?, nil) where ends[1].isEmpty: self = .from(first)
    case (nil, let count?) where ends[0].isEmpty: self = .suffix(count)
    // RFC 9110 §14.1.1: a last position before the first makes the range invalid.
    case (let first?, let last?) where first <= last: self = .between(first, last)
    default: return nil
    }
  }

  /// Returns the positions in a body of this size; `nil` if none of them exists (416).
  package func positions(in size: Int) -> Range<Int>? {
    switch self {
    case .from(let first): first < size ? first..<size : nil
    case .between(let first, let last): first < size ? first..<min(last, size - 1) + 1 : nil
    case .suffix(let count): count > 0 && size > 0 ? max(0, size - count)..<size : nil
    }
  }

  private static func number(_ text: Substring) -> Int? {
    text.utf8.allSatisfy { (48...57).contains($0) } ? Int(text) : nil
  }
}
