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

extension HTTPFields {
  /// Returns the head of an HTTP/1.1 response: a status line, the fields, and the empty line.
  ///
  /// - Parameter phrase: the reason phrase; empty for the usual one of the code.
  func head(of code: Int, phrase: String = "") -> [UInt8] {
    let phrase = phrase.isEmpty ? HTTPResponseStatus(statusCode: code).reasonPhrase : phrase
    return Array("HTTP/1.1 \(code) \(phrase)\r\n".utf8) + lines + Array("\r\n".utf8)
  }

  /// The fields, one per line, without the empty line after them.
  fileprivate var lines: [UInt8] { flatMap { Array("\($0.name.rawName): \($0.value)\r\n".utf8) } }
}

/// A response before it is encoded: its contents, its framing, and where and how it ends.
struct ReplyDraft {
  enum Framing {
    /// `Content-Length` is the size of the body plus this number of bytes.
    case length(surplus: Int)
    case chunked(trailers: HTTPFields, isTerminated: Bool)
    case untilClose
  }

  /// The request as received, also with fields that the content did not see.
  let request: OriginRequest
  var response: OriginResponse
  /// The steps before the head.
  var lead: [WireStep] = []
  /// The head that is sent; `nil` for one of the response's status and fields, and empty if no byte is sent at all.
  var head: [UInt8]?
  var framing = Framing.length(surplus: 0)
  /// The number of bytes of the body that are sent; `nil` for all.
  var cut: Int?
  var bytesPerSecond: Int?
  /// The end of the connection; `nil` for the one that the client requested.
  var ending: WireEnding?
  /// `true` if the client gets the whole response.
  var isWhole = true

  init(_ response: OriginResponse, to request: OriginRequest) {
    self.response = response
    self.request = request
  }

  /// Sends at most this number of bytes of the body, then ends.
  mutating func breakOff(after bytes: Int? = nil, with ending: WireEnding) {
    cut = bytes
    self.ending = ending
    isWhole = false
  }

  /// Sends no byte.
  mutating func saySilently(_ ending: WireEnding) {
    head = []
    breakOff(after: 0, with: ending)
  }
}

/// Steps through the response to one request: returns each next step, which the connection executes.
struct WireCursor: Sendable {
  enum Action: Sendable {
    /// `prefix` and `suffix` are no bytes of the body.
    case write(prefix: [UInt8] = [], body: ArraySlice<UInt8> = [], suffix: [UInt8] = [], isLast: Bool)
    /// No write before this time.
    case wait(until: ContinuousClock.Instant)
    /// No write until the socket accepts more bytes.
    case waitUntilWritable
    case end(WireEnding)
  }

  /// The limit of body bytes in one write, so that large bodies are not copied whole.
  private static let pieceSize = 64 * 1024
  private static let chunkSize = 8 * 1024

  /// `true` if the client gets the whole response.
  let isWhole: Bool
  let ending: WireEnding
  private var steps: ArraySlice<WireStep>
  private let bytesPerSecond: Int?
  private var pauseEnd: ContinuousClock.Instant?
  private var nextWrite: ContinuousClock.Instant?

  init(_ draft: ReplyDraft) {
    let (request, response) = (draft.request, draft.response)
    let isBodyless = request.method == .head || response.status.hasNoContent
    let body = isBodyless ? [] : response.bytes.prefix(max(0, draft.cut ?? .max))

    ending = draft.ending ?? (request.isPersistent ? .keepAlive : .close)
    bytesPerSecond = draft.bytesPerSecond.map { max(1, $0) }
    isWhole = draft.isWhole
    steps = draft.lead[...]

    if let head = draft.head {
      guard !head.isEmpty else { return }
      steps.append(.raw(head))
    } else {
      // A connection that breaks is not announced.
      let closes = draft.ending == nil ? ending == .close : draft.isAnnouncedClose
      var fields = response.headers
      // HTTP/1.0 has a persistent connection only if it is announced.
      if closes { fields[.connection] = "close" } else if request.isHTTP10 { fields[.connection] = "keep-alive" }
      draft.framing.describe(response, in: &fields)
      steps.append(.raw(fields.head(of: response.status.code, phrase: response.status.reasonPhrase)))
    }
    guard !isBodyless else { return }
    guard case .chunked(let trailers, let isTerminated) = draft.framing, draft.head == nil else {
      if !body.isEmpty { steps.append(.body(body)) }
      return
    }
    if !body.isEmpty { steps.append(.chunkedBody(body)) }
    if isTerminated { steps.append(.raw(Array("0\r\n".utf8) + trailers.lines + Array("\r\n".utf8))) }
  }

  mutating func next(at now: ContinuousClock.Instant, isWritable: Bool) -> Action {
    while case .pause(let time)? = steps.first {
      let end = pauseEnd ?? now + time
      pauseEnd = end
      if now < end { return .wait(until: end) }
      pauseEnd = nil
      steps.removeFirst()
    }
    guard let step = steps.first else { return .end(ending) }
    guard isWritable else { return .waitUntilWritable }

    switch step {
    case .pause:
      return .wait(until: now)
    case .raw(let bytes):
      steps.removeFirst()
      return .write(prefix: bytes, isLast: steps.isEmpty)
    case .body(let rest):
      return bodyAction(rest, limit: Self.pieceSize, at: now) { .body($0) }
    case .chunkedBody(let rest):
      let action = bodyAction(rest, limit: Self.chunkSize, at: now) { .chunkedBody($0) }
      guard case .write(_, let body, _, let isLast) = action else { return action }
      let prefix = Array((String(body.count, radix: 16) + "\r\n").utf8)
      return .write(prefix: prefix, body: body, suffix: Array("\r\n".utf8), isLast: isLast)
    }
  }

  private mutating func bodyAction(
    _ rest: ArraySlice<UInt8>, limit: Int, at now: ContinuousClock.Instant,
    remaining: (ArraySlice<UInt8>) -> WireStep
  ) -> Action {
    if let nextWrite, now < nextWrite { return .wait(until: nextWrite) }
    let size = min(limit, pacedSize)
    steps.removeFirst()
    if rest.count > size { steps = [remaining(rest.dropFirst(size))] + steps }
    let body = rest.prefix(size)
    if let bytesPerSecond {
      // Late timers are compensated for, but a client that paused its reading gets no burst.
      let start = max(nextWrite ?? now, now - .milliseconds(100))
      nextWrite = start + .nanoseconds(Int64(body.count) * 1_000_000_000 / Int64(bytesPerSecond))
    }
    return .write(body: body, isLast: steps.isEmpty)
  }

  /// The bytes of one write of a slow body, which is sent in about fifty writes a second.
  private var pacedSize: Int {
    bytesPerSecond.map { max(1, $0 / 50) } ?? .max
  }
}
