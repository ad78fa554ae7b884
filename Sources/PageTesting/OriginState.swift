import HTTPTypes
import NIOCore

/// The state that an origin shares with its connections.
struct OriginState: Sendable {
  enum Phase: Sendable {
    case accepting
    /// No socket is listening; may follow and precede `accepting`.
    case refusing
    /// The final state.
    case stopped
  }

  enum Route: Sendable {
    case content(OriginContent)
    case handler(@Sendable (OriginRequest) async throws -> OriginResponse)
  }

  var phase = Phase.accepting
  var routes: [String: Route] = [:]
  /// The faults that apply to one request each.
  var scripts: [String: ArraySlice<Fault>] = [:]
  /// The faults of all requests without a script.
  var standingFaults: [String: Fault] = [:]
  var heldPatterns: Set<String> = []
  /// The patterns of requests that are answered before their bodies arrive.
  var headPatterns: Set<String> = []
  var baseline = FaultOrigin.Baseline()
  var ledger = OriginLedger()
  /// The socket that listens, and a copy of its descriptor.
  var listener: (channel: any Channel, descriptor: Int32)?
  private(set) var channels: [Int: any Channel] = [:]
  /// Reserves the port while no socket is listening.
  let reservation: PortReservation

  init(_ reservation: PortReservation) {
    self.reservation = reservation
  }
}

// MARK: - Connections

extension OriginState {
  /// Returns the connection's number; `nil` if the origin no longer accepts it.
  mutating func connectionOpened(_ channel: any Channel) -> Int? {
    guard phase == .accepting else { return nil }
    let number = ledger.connectionOpened()
    channels[number] = channel
    return number
  }

  mutating func connectionClosed(_ number: Int) {
    guard channels.removeValue(forKey: number) != nil else { return }
    ledger.connectionClosed()
  }
}

// MARK: - Requests

/// A request with the parts of its response.
typealias Exchange = (request: OriginRequest, fault: Fault, route: OriginState.Route?)

extension OriginState {
  /// Records a request, and decides its response.
  mutating func admit(_ request: OriginRequest, on connection: Int) -> Exchange {
    (
      ledger.began(request, on: connection),
      nextScriptedFault(for: request.path) ?? standingFaults.value(for: request.path) ?? .normal,
      routes.value(for: request.path)
    )
  }

  /// Returns `true` if responses to the target wait for their release.
  func isHeld(_ target: String) -> Bool {
    guard phase != .stopped else { return false }
    return baseline.holdsResponses || heldPatterns.contains { $0.matches(target: target) }
  }

  func isHeadEnough(_ target: String) -> Bool { headPatterns.contains { $0.matches(target: target) } }

  private mutating func nextScriptedFault(for target: String) -> Fault? {
    guard let pattern = scripts.pattern(for: target), let fault = scripts[pattern]?.first else { return nil }
    let rest = scripts[pattern]?.dropFirst() ?? []
    scripts[pattern] = rest.isEmpty ? nil : rest
    return fault
  }
}

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
    tallies.lazy.filter { pattern.matches(target: $0.key) }.reduce(into: Tally()) { sum, entry in
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

  mutating func began(_ request: OriginRequest, on connection: Int) -> OriginRequest {
    var request = request
    (request.index, request.connection) = (requests.count, connection)
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
