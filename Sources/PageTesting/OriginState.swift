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
  var routes = RouteTable<Route>()
  /// The faults that apply to one request each.
  var scripts = RouteTable<ArraySlice<Fault>>()
  /// The faults of all requests without a script.
  var standingFaults = RouteTable<Fault>()
  var heldPatterns: Set<String> = []
  /// The patterns of requests that are answered before their bodies arrive.
  var headPatterns: Set<String> = []
  var baseline = FaultOrigin.Baseline()
  var ledger = OriginLedger()
  var listener: OriginListener?
  private(set) var channels: [Int: any Channel] = [:]
  /// Reserves the port while no socket is listening.
  let reservation: PortReservation

  init(_ reservation: PortReservation) {
    self.reservation = reservation
  }
}

/// The socket that listens, and a copy of its descriptor.
struct OriginListener: Sendable {
  let channel: any Channel
  let descriptor: Int32

  /// Refuses connections from now on, and returns when the socket is closed.
  func close() async {
    let (channel, descriptor) = (channel, descriptor)
    // On its event loop, which accepts no connection in between.
    channel.eventLoop.execute {
      PortReservation.endListening(descriptor)
      channel.close(promise: nil)
    }
    try? await channel.closeFuture.get()
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
struct Exchange: Sendable {
  let request: OriginRequest
  let fault: Fault
  let route: OriginState.Route?
  let isPersistent: Bool
  let isHTTP10: Bool
}

extension OriginState {
  /// Records a request, and decides its response.
  mutating func admit(_ received: ReceivedRequest, on connection: Int) -> Exchange {
    Exchange(
      request: ledger.began(received, on: connection),
      fault: nextScriptedFault(for: received.path) ?? standingFaults.value(for: received.path) ?? .normal,
      route: routes.value(for: received.path),
      isPersistent: received.isPersistent,
      isHTTP10: received.isHTTP10)
  }

  /// Returns `true` if responses to the target wait for their release.
  func isHeld(_ target: String) -> Bool {
    guard phase != .stopped else { return false }
    return baseline.holdsResponses || heldPatterns.contains { PathPattern.matches($0, target) }
  }

  func isHeadEnough(_ target: String) -> Bool { headPatterns.contains { PathPattern.matches($0, target) } }

  private mutating func nextScriptedFault(for target: String) -> Fault? {
    guard let pattern = scripts.pattern(for: target), let fault = scripts[pattern]?.first else { return nil }
    let rest = scripts[pattern]?.dropFirst() ?? []
    scripts[pattern] = rest.isEmpty ? nil : rest
    return fault
  }
}
