import HTTPTypes

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
      draft.lead.append(.raw(HeadText.bytes(code, fields)))
      next.apply(to: &draft)
    case .rawHead(let text):
      draft.head = .verbatim(Array(text.utf8))
      draft.breakOff(with: .close)
    case .garbage:
      draft.head = .verbatim(Self.noise)
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
