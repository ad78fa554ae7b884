import HTTPTypes
import NIOCore
import NIOHTTP1

/// A complete request, before the origin numbers it.
struct ReceivedRequest: Sendable {
  var method: HTTPRequest.Method
  var path: String
  var headers: HTTPFields
  var body: [UInt8] = []
  var bodySize = 0
  var trailers = HTTPFields()
  var began: ContinuousClock.Instant
  /// `true` if the client wants to reuse the connection.
  var isPersistent: Bool
  var isHTTP10: Bool

  init(_ head: HTTPRequestHead, began: ContinuousClock.Instant) {
    method = HTTPRequest.Method(rawValue: head.method.rawValue) ?? .get
    path = head.uri
    headers = HTTPFields(head.headers)
    self.began = began
    // The decoder reads nothing after a request for another protocol.
    isPersistent = head.isKeepAlive && !head.headers.contains(name: "upgrade") && head.method != .CONNECT
    isHTTP10 = head.version == .http1_0
  }
}

/// Assembles the parts of consecutive requests.
struct RequestAssembler {
  private let recordedBodyBytes: Int
  private var partial: ReceivedRequest?

  init(recordedBodyBytes: Int) {
    self.recordedBodyBytes = recordedBodyBytes
  }

  /// `true` if the client waits for `100 Continue` before it sends the body.
  private(set) var awaitsContinue = false

  /// Records that `100 Continue` was sent.
  mutating func answeredContinue() {
    awaitsContinue = false
  }

  /// The target of the latest request.
  private(set) var path: String?

  /// Adds a part, and returns the request when it is complete, or when its head suffices.
  ///
  /// - Parameter isHeadEnough: returns `true` if requests for a target are answered before their bodies arrive.
  mutating func add(
    _ part: HTTPServerRequestPart, at now: ContinuousClock.Instant, isHeadEnough: (String) -> Bool
  ) -> ReceivedRequest? {
    switch part {
    case .head(let head):
      path = head.uri
      guard !isHeadEnough(head.uri) else { return ReceivedRequest(head, began: now) }
      partial = ReceivedRequest(head, began: now)
      awaitsContinue = head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
      return nil
    case .body(let bytes):
      awaitsContinue = false
      partial?.bodySize += bytes.readableBytes
      let room = recordedBodyBytes - (partial?.body.count ?? 0)
      if room > 0 { partial?.body.append(contentsOf: bytes.readableBytesView.prefix(room)) }
      return nil
    case .end(let trailers):
      awaitsContinue = false
      if let trailers { partial?.trailers = HTTPFields(trailers) }
      defer { partial = nil }
      return partial
    }
  }
}

extension HTTPFields {
  /// The fields in their order; fields with invalid names are left out.
  init(_ headers: HTTPHeaders) {
    self.init()
    for (name, value) in headers {
      guard let name = HTTPField.Name(name) else { continue }
      append(HTTPField(name: name, value: value))
    }
  }
}
