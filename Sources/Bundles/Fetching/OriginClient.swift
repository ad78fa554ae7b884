import HTTPTransport
import HTTPTypes
import Synchronization

/// Sends requests and follows their redirects, hop by hop: each is decided on, and gets only what its origin may see.
public struct OriginClient: Sendable {
  private let sender: OriginSender
  private let fields: OriginFields?
  let limits: TransferLimits
  /// How many requests were sent.
  let counter: RequestCounter
  /// When the server last sent something.
  let activity: TransferActivity

  /// - Parameters:
  ///   - fields: sent to their origin alone.
  ///   - reachability: is told what becomes of requests; while it is set to offline none goes out. Share it with the
  ///     ``ResourceLoader``.
  public init(
    _ transport: any HTTPTransporting, fields: OriginFields? = nil, limits: TransferLimits = .standard,
    reachability: Reachability = Reachability()
  ) {
    self.init(transport, fields: fields, limits: limits, reachability: reachability, time: .system)
  }

  package init(
    _ transport: any HTTPTransporting, fields: OriginFields? = nil, limits: TransferLimits = .standard,
    reachability: Reachability = Reachability(), time: TimeSource
  ) {
    sender = OriginSender(transport, reachability: reachability)
    self.fields = fields
    self.limits = limits
    counter = RequestCounter()
    activity = TransferActivity(time)
  }

  var reachability: Reachability { sender.reachability }

  /// An origin that counts as away is asked all the same: whoever fetches bundles paces itself.
  ///
  /// - Parameters:
  ///   - url: `http` or `https`.
  ///   - limits: by default the client's.
  /// - Throws: ``TransportError``, ``RedirectFault``, ``OfflineError``, `CancellationError`.
  package func send(
    _ method: HTTPRequest.Method = .get, _ url: PageURL, fields extra: HTTPFields = [:], bodyLimit: Int64? = nil,
    onFreshConnection: Bool = false, limits: TransferLimits? = nil
  ) async throws -> TransportResponse {
    var limits = limits ?? self.limits
    limits.bodyBytes = bodyLimit
    var url = url
    var visited: [PageURL] = []
    while true {
      let fields = fields?.adding(to: extra, for: url) ?? extra
      guard let head = HTTPRequest(method: method, url: url, fields: fields) else {
        throw TransportError.invalidURL(url.text)
      }
      try reachability.checkSetting(for: url)
      counter.add()
      let response = try await sender.send(
        TransportRequest(head, limits: limits, needsFreshConnection: onFreshConnection), to: url)
      switch RedirectDecision(for: response.head, at: url, visited: visited) {
      case .take: return response
      case .refuse(let fault): throw fault
      case .follow(let target):
        visited.append(url)
        url = target
      }
    }
  }
}

/// Counts requests of one client.
final class RequestCounter: Sendable {
  private let count = Atomic<Int>(0)

  var value: Int { count.load(ordering: .relaxed) }
  func add() { count.add(1, ordering: .relaxed) }
}
