/// The records of an origin.
struct OriginLedger: Sendable {
  struct Tally: Sendable {
    var requests = 0
    var completedResponses = 0
    var bodyBytes = 0
    var receivedBytes = 0
  }

  private(set) var requests: [OriginRequest] = []
  private(set) var activeRequests = 0
  private(set) var maxActiveRequests = 0
  private(set) var connections = 0
  private(set) var openConnections = 0
  private var tallies: [String: Tally] = [:]

  /// Returns the sums over all requests that match a pattern.
  func tally(of pattern: String) -> Tally {
    tallies.lazy.filter { PathPattern.matches(pattern, $0.key) }.reduce(into: Tally()) { sum, entry in
      sum.requests += entry.value.requests
      sum.completedResponses += entry.value.completedResponses
      sum.bodyBytes += entry.value.bodyBytes
      sum.receivedBytes += entry.value.receivedBytes
    }
  }

  /// Returns the connection's number.
  mutating func connectionOpened() -> Int {
    openConnections += 1
    connections += 1
    return connections - 1
  }

  mutating func connectionClosed() {
    openConnections -= 1
  }

  mutating func began(_ received: ReceivedRequest, on connection: Int) -> OriginRequest {
    let request = OriginRequest(received, index: requests.count, connection: connection)
    requests.append(request)
    tallies[request.path, default: Tally()].requests += 1
    activeRequests += 1
    maxActiveRequests = max(maxActiveRequests, activeRequests)
    return request
  }

  mutating func sent(_ bodyBytes: Int, to request: OriginRequest) {
    tallies[request.path, default: Tally()].bodyBytes += bodyBytes
  }

  mutating func received(_ bodyBytes: Int, for path: String) {
    tallies[path, default: Tally()].receivedBytes += bodyBytes
  }

  mutating func ended(_ request: OriginRequest, isComplete: Bool) {
    activeRequests -= 1
    if isComplete { tallies[request.path, default: Tally()].completedResponses += 1 }
  }

  /// Records that the last bytes of a response could not be sent.
  mutating func lostEnd(of request: OriginRequest) {
    tallies[request.path, default: Tally()].completedResponses -= 1
  }
}
