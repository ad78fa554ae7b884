import HTTPTypes
import NIOCore
import NIOHTTP1

/// A request that has come in whole, before the origin gives it a number.
struct ReceivedRequest: Sendable {
  var method: HTTPRequest.Method
  var path: String
  var headers: HTTPFields
  var body: [UInt8] = []
  var bodySize = 0
  var trailers = HTTPFields()
  var began: ContinuousClock.Instant
  /// Whether the client wants to use the connection again.
  var isPersistent: Bool
  var isHTTP10: Bool

  init(_ head: HTTPRequestHead, began: ContinuousClock.Instant) {
    method = HTTPRequest.Method(rawValue: head.method.rawValue) ?? .get
    path = head.uri
    headers = HTTPFields(head.headers)
    self.began = began
    // The decoder reads nothing more after a request that asks for another protocol.
    isPersistent = head.isKeepAlive && !head.headers.contains(name: "upgrade") && head.method != .CONNECT
    isHTTP10 = head.version == .http1_0
  }
}

/// Puts the parts of one request after the other together.
struct RequestAssembler {
  private let recordedBodyBytes: Int
  private var partial: ReceivedRequest?

  init(recordedBodyBytes: Int) {
    self.recordedBodyBytes = recordedBodyBytes
  }

  /// Whether the client waits for `100 Continue` before it sends the body.
  private(set) var awaitsContinue = false

  /// Says that `100 Continue` is on its way.
  mutating func answeredContinue() {
    awaitsContinue = false
  }

  /// The target of the request that came last.
  private(set) var path: String?

  /// Takes the next part, and returns the request when that was its last, or all that is waited for.
  ///
  /// - Parameter isHeadEnough: whether a request for a target is answered before its body has come.
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
  /// The fields in their order; those whose name is no token are left out.
  init(_ headers: HTTPHeaders) {
    self.init()
    for (name, value) in headers {
      guard let name = HTTPField.Name(name) else { continue }
      append(HTTPField(name: name, value: value))
    }
  }
}
