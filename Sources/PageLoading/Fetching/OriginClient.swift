import HTTPTypes
import PageCore
import Synchronization

/// Sends requests and follows their redirects, hop by hop: each is decided on, and gets only what its origin may see.
public struct OriginClient: Sendable {
  private let transport: any HTTPTransporting
  private let fields: OriginFields?
  let limits: TransferLimits
  /// How many requests were sent.
  let counter: RequestCounter
  /// When the server last sent something.
  let activity: TransferActivity

  public init(_ transport: any HTTPTransporting, fields: OriginFields? = nil, limits: TransferLimits = .standard) {
    self.init(transport, fields: fields, limits: limits, time: .system)
  }

  package init(
    _ transport: any HTTPTransporting, fields: OriginFields? = nil, limits: TransferLimits = .standard,
    time: TimeSource
  ) {
    self.transport = transport
    self.fields = fields
    self.limits = limits
    counter = RequestCounter()
    activity = TransferActivity(time)
  }

  /// - Parameter url: `http` or `https`.
  /// - Throws: ``TransportError``, ``RedirectFault``, `CancellationError`.
  package func send(
    _ method: HTTPRequest.Method = .get, _ url: PageURL, fields extra: HTTPFields = [:], bodyLimit: Int64? = nil,
    onFreshConnection: Bool = false
  ) async throws -> TransportResponse {
    var limits = limits
    limits.bodyBytes = bodyLimit
    var url = url
    var visited: [PageURL] = []
    while true {
      let fields = fields?.adding(to: extra, for: url) ?? extra
      guard let head = HTTPRequest(method: method, url: url, fields: fields) else {
        throw TransportError.invalidURL(url.text)
      }
      counter.add()
      let response = try await transport.send(
        TransportRequest(head, limits: limits, needsFreshConnection: onFreshConnection))
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
