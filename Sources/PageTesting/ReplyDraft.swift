import HTTPTypes

/// An answer before it becomes bytes: what it says, how it is framed, where it is cut and how it ends.
struct ReplyDraft {
  enum Head {
    /// Made from the response.
    case regular
    case verbatim([UInt8])
    /// Not a byte is sent.
    case missing
  }

  enum Framing {
    /// `Content-Length` is the body's size plus this many bytes.
    case length(surplus: Int)
    case chunked(trailers: HTTPFields, isTerminated: Bool)
    case untilClose
  }

  /// The request as it came, with the fields that the content may not have been shown.
  let request: OriginRequest
  var response: OriginResponse
  /// What happens before the head.
  var lead: [WireStep] = []
  var head = Head.regular
  var framing = Framing.length(surplus: 0)
  /// How many bytes of the body are sent, nil for all.
  var cut: Int?
  var bytesPerSecond: Int?
  /// How the connection ends, nil for what the client asked for.
  var ending: WireEnding?
  /// Whether the client gets what the response says.
  var isWhole = true

  init(_ response: OriginResponse, to request: OriginRequest) {
    self.response = response
    self.request = request
  }

  /// Sends at most that many bytes of the body, then ends.
  mutating func breakOff(after bytes: Int? = nil, with ending: WireEnding) {
    cut = bytes
    self.ending = ending
    isWhole = false
  }

  /// Sends nothing at all.
  mutating func saySilently(_ ending: WireEnding) {
    head = .missing
    breakOff(after: 0, with: ending)
  }
}
