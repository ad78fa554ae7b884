import HTTPTransport
import HTTPTypes
import Synchronization

/// Sends requests and follows redirects. Each origin gets only the fields that belong to it.
package final class OriginClient: Sendable {
  private let sender: OriginSender
  private let fields: OriginFields?
  let limits: TransferLimits
  private let sent = Atomic<Int>(0)
  /// The times at which the server last sent bytes.
  let activity: TransferActivity

  /// - Parameters:
  ///   - fields: fields that are sent to their origin only.
  ///   - reachability: receives the outcome of each request; while it is set to offline, no request is sent. Share it
  ///     with the `ResourceLoader`.
  package init(
    _ transport: any HTTPTransporting, fields: OriginFields? = nil, limits: TransferLimits = .standard,
    reachability: Reachability = Reachability(), time: TimeSource = .system
  ) {
    sender = OriginSender(transport, reachability: reachability)
    self.fields = fields
    self.limits = limits
    activity = TransferActivity(time)
  }

  var reachability: Reachability { sender.reachability }

  /// The number of requests that were sent.
  var requestCount: Int { sent.load(ordering: .relaxed) }

  /// Sends a request also to an origin that counts as unreachable: preloads have pauses of their own.
  ///
  /// - Parameters:
  ///   - url: an `http` or `https` URL.
  ///   - ownFields: fields for the URL's origin alone, in the place of others of the same name. A redirect to another
  ///     origin is followed without them.
  ///   - limits: the limits of the transfer; the client's by default.
  /// - Throws: ``TransportError``, ``RedirectFault``, ``OfflineError``, `CancellationError`.
  package func send(
    _ method: HTTPRequest.Method = .get, _ url: PageURL, fields extra: HTTPFields = [:], ownFields: HTTPFields = [:],
    bodyLimit: Int64? = nil, onFreshConnection: Bool = false, limits: TransferLimits? = nil
  ) async throws -> TransportResponse {
    let own = ownFields.isEmpty ? nil : OriginFields(ownFields, for: url)
    var limits = limits ?? self.limits
    limits.bodyBytes = bodyLimit
    var url = url
    var visited: [PageURL] = []
    while true {
      let asked = own?.adding(to: extra, for: url) ?? extra
      let fields = fields?.adding(to: asked, for: url) ?? asked
      guard let head = HTTPRequest(method: method, url: url, fields: fields) else {
        throw TransportError.invalidURL(url.text)
      }
      try reachability.checkSetting(for: url)
      sent.add(1, ordering: .relaxed)
      let response = try await sender.send(
        TransportRequest(head, limits: limits, needsFreshConnection: onFreshConnection), to: url)
      switch RedirectDecision(for: response.head, at: url, visited: visited) {
      case .use: return response
      case .refuse(let fault): throw fault
      case .follow(let target):
        visited.append(url)
        url = target
      }
    }
  }

  /// Posts bytes, and reads the answer to its end. A redirect is not followed: the bytes are posted to this URL
  /// alone.
  ///
  /// - Parameter url: an `http` or `https` URL.
  /// - Throws: ``TransportError``, ``OfflineError``, `CancellationError`.
  func post(_ body: [UInt8], to url: PageURL, fields: HTTPFields) async throws -> HTTPResponse {
    guard let head = HTTPRequest(method: .post, url: url, fields: fields) else {
      throw TransportError.invalidURL(url.text)
    }
    try reachability.checkSetting(for: url)
    sent.add(1, ordering: .relaxed)
    var limits = limits
    limits.bodyBytes = Self.answerLimit
    let response = try await sender.send(TransportRequest(head, body: body, limits: limits), to: url)
    for try await _ in response.body {}
    return response.head
  }

  /// The size of an answer to posted bytes.
  private static let answerLimit: Int64 = 64 << 10
}
