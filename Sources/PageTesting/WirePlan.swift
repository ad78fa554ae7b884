import HTTPTypes
import NIOHTTP1

/// A step of a response on the connection.
enum WireStep: Sendable {
  case pause(Duration)
  /// Heads and framing, which are sent unchanged.
  case raw([UInt8])
  case body(ArraySlice<UInt8>)
  /// A body that is sent with one chunk for each write.
  case chunkedBody(ArraySlice<UInt8>)
}

/// The end of a response on its connection.
enum WireEnding: Sendable {
  /// The connection stays open for the next request.
  case keepAlive
  case close
  /// The connection ends with RST instead of FIN.
  case reset
  /// No further byte is sent until the client disconnects.
  case stall
}

/// All steps of a response to one request.
struct WirePlan: Sendable {
  var steps: [WireStep]
  let ending: WireEnding
  let bytesPerSecond: Int?
  /// `true` if the client gets the whole response.
  let isWhole: Bool

  /// - Parameters:
  ///   - isPersistent: `true` if the client wants to reuse the connection.
  ///   - isHTTP10: `true` if a persistent connection must be announced.
  init(_ draft: ReplyDraft, isPersistent: Bool, isHTTP10: Bool) {
    let response = draft.response
    let isBodyless = draft.request.method == .head || response.status.hasNoContent
    let body = isBodyless ? [] : response.bytes.prefix(max(0, draft.cut ?? .max))

    ending = draft.ending ?? (isPersistent ? .keepAlive : .close)
    bytesPerSecond = draft.bytesPerSecond
    isWhole = draft.isWhole
    steps = draft.lead

    switch draft.head {
    case .missing: return
    case .verbatim(let bytes): steps.append(.raw(bytes))
    case .regular:
      // A connection that breaks is not announced.
      let closes = draft.ending == nil ? ending == .close : draft.isAnnouncedClose
      var fields = response.headers
      if closes { fields[.connection] = "close" } else if isHTTP10 { fields[.connection] = "keep-alive" }
      draft.framing.describe(response, in: &fields)
      steps.append(.raw(HeadText.bytes(response.status.code, fields, phrase: response.status.reasonPhrase)))
    }
    guard !isBodyless else { return }
    guard case .chunked(let trailers, let isTerminated) = draft.framing, case .regular = draft.head else {
      if !body.isEmpty { steps.append(.body(body)) }
      return
    }
    if !body.isEmpty { steps.append(.chunkedBody(body)) }
    if isTerminated { steps.append(.raw(Array("0\r\n".utf8) + HeadText.lines(trailers) + Array("\r\n".utf8))) }
  }
}

extension ReplyDraft {
  fileprivate var isAnnouncedClose: Bool {
    if case .untilClose = framing { true } else { false }
  }
}

extension ReplyDraft.Framing {
  /// Adds the fields that give the length of the body.
  fileprivate func describe(_ response: OriginResponse, in fields: inout HTTPFields) {
    switch self {
    case .length(let surplus):
      // RFC 9110 §8.6: 1xx and 204 must not have it, and with 304 it could only be wrong.
      guard !response.status.hasNoContent, surplus != 0 || fields[.contentLength] == nil else { return }
      fields[.contentLength] = String(max(0, response.bytes.count + surplus))
    case .chunked(let trailers, _):
      fields[.contentLength] = nil
      fields[.transferEncoding] = "chunked"
      if !trailers.isEmpty { fields[.trailer] = trailers.map(\.name.rawName).joined(separator: ", ") }
    case .untilClose:
      fields[.contentLength] = nil
    }
  }
}

extension HTTPResponse.Status {
  /// RFC 9112 §6.3: the response consists of its head.
  fileprivate var hasNoContent: Bool {
    kind == .informational || self == .noContent || self == .notModified
  }
}

// MARK: - Heads

/// Writes the heads of HTTP/1.1 messages.
enum HeadText {
  /// Returns a status line, the fields, and the empty line.
  ///
  /// - Parameter phrase: the reason phrase; empty for the usual one of the code.
  static func bytes(_ code: Int, _ fields: HTTPFields, phrase: String = "") -> [UInt8] {
    let phrase = phrase.isEmpty ? HTTPResponseStatus(statusCode: code).reasonPhrase : phrase
    return Array("HTTP/1.1 \(code) \(phrase)\r\n".utf8) + lines(fields) + Array("\r\n".utf8)
  }

  /// Returns the fields, one per line, without the empty line after them.
  static func lines(_ fields: HTTPFields) -> [UInt8] {
    fields.flatMap { Array("\($0.name.rawName): \($0.value)\r\n".utf8) }
  }
}
