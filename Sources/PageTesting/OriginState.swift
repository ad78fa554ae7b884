import HTTPTypes
import NIOCore

/// Everything that an origin and its connections share.
struct OriginState: Sendable {
  enum Phase: Sendable {
    case accepting
    /// Nothing listens; may follow and be followed by `accepting`.
    case refusing
    /// The end.
    case stopped
  }

  enum Route: Sendable {
    case content(OriginContent)
    case handler(@Sendable (OriginRequest) async throws -> OriginResponse)
  }

  var phase = Phase.accepting
  var routes = RouteTable<Route>()
  /// Faults that are used up one by one.
  var scripts = RouteTable<ArraySlice<Fault>>()
  /// Faults of every request that has no script.
  var standingFaults = RouteTable<Fault>()
  var heldPatterns: Set<String> = []
  /// Where a request is answered before its body has come.
  var headPatterns: Set<String> = []
  var baseline = FaultOrigin.Baseline()
  var ledger = OriginLedger()
  var listener: (any Channel)?
  private(set) var channels: [Int: any Channel] = [:]
  /// Keeps the port ours while nothing listens.
  let reservation: PortReservation

  init(_ reservation: PortReservation) {
    self.reservation = reservation
  }
}

// MARK: - Connections

extension OriginState {
  /// Returns the connection's number, nil when it came too late.
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

/// A request that is being answered, and what its answer is made of.
struct Exchange: Sendable {
  let request: OriginRequest
  let fault: Fault
  let route: OriginState.Route?
  let isPersistent: Bool
  let isHTTP10: Bool
}

extension OriginState {
  /// Writes a request down, and decides what it gets.
  mutating func admit(_ received: ReceivedRequest, on connection: Int) -> Exchange {
    Exchange(
      request: ledger.began(received, on: connection),
      fault: nextScriptedFault(for: received.path) ?? standingFaults.value(for: received.path) ?? .normal,
      route: routes.value(for: received.path),
      isPersistent: received.isPersistent,
      isHTTP10: received.isHTTP10)
  }

  /// Whether responses to that target wait for their release.
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
