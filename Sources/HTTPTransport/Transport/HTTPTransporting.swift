import HTTPTypes

/// Sends one HTTP request and streams the answer's wire bytes: no redirects, no decoding, no cache.
public protocol HTTPTransporting: Sendable {
  /// Returns when the final head has arrived; the body follows in `body`.
  ///
  /// Cancelling the task cancels the transfer; letting go of the body does too.
  ///
  /// - Throws: ``TransportError``, or `CancellationError`.
  func send(_ request: TransportRequest) async throws -> TransportResponse

  /// Ends every transfer with ``TransportError/shutDown(url:)``, and returns when nothing of them is under way any
  /// more; later requests fail at once. A transport that has nothing of its own to end need not implement it.
  func shutDown() async
}

extension HTTPTransporting {
  public func shutDown() async {}
}

/// What to send, and how long and how much to put up with.
public struct TransportRequest: Sendable {
  /// Its path is the request target: a path with its query, sent byte for byte, or another form of RFC 9112 §3.2 such
  /// as `*`. Where the request goes is always the authority's.
  public var head: HTTPRequest
  public var body: [UInt8]
  /// A body in place of ``body``, never sent twice. `HEAD` has none. It alone says how long it is: `Content-Length` and
  /// `Transfer-Encoding` of the head are left out.
  public var stream: RequestStream?
  public var limits: TransferLimits
  /// Never on a connection that was used before: something on it may have gone wrong.
  public var needsFreshConnection: Bool
  /// Whose cookies go along, and who keeps those of the answer; nil for no cookies at all.
  ///
  /// A `Cookie` field of the head's own is sent in their place, and none where it is empty; the answer's cookies are
  /// kept even then.
  public var cookies: (any CookieStoring)?
  /// The head goes out without fields that the caller did not give it: no `Accept`, no `User-Agent`. What frames the
  /// message and names its host is still there.
  public var addsNothing = false
  /// Told of each interim head (1xx but 101) as it comes, before the final one. It must not block.
  public var informational: (@Sendable (HTTPResponse) -> Void)?

  public init(
    _ head: HTTPRequest, body: [UInt8] = [], limits: TransferLimits = .standard, needsFreshConnection: Bool = false,
    cookies: (any CookieStoring)? = nil
  ) {
    self.head = head
    self.body = body
    self.limits = limits
    self.needsFreshConnection = needsFreshConnection
    self.cookies = cookies
  }

  /// The URL as text, for messages. A target that is no path is left out of it.
  public var url: String {
    let path = head.path ?? "/"
    let isPath = path.hasPrefix("/") || path.hasPrefix("?")
    return "\(head.scheme ?? "http")://\(head.authority ?? "")\(isPath ? path : "")"
  }
}

extension HTTPRequest {
  /// A request for a page's URL; nil for a `file:` URL.
  public init?(method: HTTPRequest.Method = .get, url: PageURL, fields: HTTPFields = [:]) {
    guard !url.isFile, let slashes = url.text.firstRange(of: "://") else { return nil }
    let rest = url.text[slashes.upperBound...]
    let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    let path = rest[end...]
    self.init(
      method: method, scheme: String(url.text[..<slashes.lowerBound]), authority: String(rest[..<end]),
      path: path.hasPrefix("/") ? String(path) : "/" + path, headerFields: fields)
  }
}

/// How long and how much a transfer may take.
public struct TransferLimits: Hashable, Sendable {
  /// For the name, the connection and TLS together.
  public var connect: Duration
  /// Slower than this many bytes a second …
  public var lowSpeedBytesPerSecond: Int
  /// … over this long ends the transfer.
  public var lowSpeedTime: Duration
  /// For everything, nil for no limit.
  public var total: Duration?
  /// Wire bytes of the body, nil for no limit.
  public var bodyBytes: Int64?

  public init(
    connect: Duration = .seconds(10), lowSpeedBytesPerSecond: Int = 256, lowSpeedTime: Duration = .seconds(15),
    total: Duration? = nil, bodyBytes: Int64? = nil
  ) {
    self.connect = connect
    self.lowSpeedBytesPerSecond = lowSpeedBytesPerSecond
    self.lowSpeedTime = lowSpeedTime
    self.total = total
    self.bodyBytes = bodyBytes
  }

  public static let standard = TransferLimits()
}

/// A final head, and the body that follows it.
public struct TransportResponse: Sendable {
  public let head: HTTPResponse
  /// The wire bytes as they arrive.
  public let body: Body
  /// Of HTTP, in which it came, such as `1.1` or `2`; nil where it is not known.
  public let version: String?

  public init(head: HTTPResponse, body: Body, version: String? = nil) {
    self.head = head
    self.body = body
    self.version = version
  }
}

/// What a transfer cost, and what came after its body.
public struct TransferSummary: Sendable {
  public var timings: TransferTimings
  public var trailers: HTTPFields

  public init(timings: TransferTimings = TransferTimings(), trailers: HTTPFields = [:]) {
    self.timings = timings
    self.trailers = trailers
  }
}

/// Where a transfer's time and bytes went. Durations are counted from its start.
public struct TransferTimings: Hashable, Sendable {
  public var nameLookup: Duration = .zero
  public var connected: Duration = .zero
  /// TLS was ready; zero without TLS.
  public var secured: Duration = .zero
  public var firstByte: Duration = .zero
  public var total: Duration = .zero
  /// Heads and body as they came over the wire.
  public var bytesReceived: Int64 = 0
  /// Head and body as they were sent.
  public var bytesSent: Int64 = 0
  public var reusedConnection = false
  /// `1.1` or `2`; nil before there was an answer.
  public var httpVersion: String?

  public init() {}
}
