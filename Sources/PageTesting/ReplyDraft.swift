import HTTPTypes

/// A response before it is encoded: its contents, its framing, and where and how it ends.
struct ReplyDraft {
  enum Head {
    /// Made from the response's status and fields.
    case regular
    case verbatim([UInt8])
    /// No byte is sent.
    case missing
  }

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
  var head = Head.regular
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
    head = .missing
    breakOff(after: 0, with: ending)
  }
}
