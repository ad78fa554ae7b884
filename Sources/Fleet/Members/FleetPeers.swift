import HTTPCaching

/// The hosts of a fleet, as one of them knows them by their messages.
package struct FleetPeers: Hashable, Sendable {
  package struct Peer: Hashable, Sendable {
    package var name: String
    var process: String
    /// The sequence of the last order that it has applied.
    package var sequence: UInt64
    package var heard: HTTPDate
    package var report: FleetMessage.Report?
  }

  /// The hosts, by their names.
  private var peers: [String: Peer] = [:]

  /// A host that is silent for so many seconds belongs to the fleet no more.
  package static let memory: Int64 = 600
  /// The most hosts that are remembered.
  package static let limit = 2_000

  package init() {}

  /// - Returns: `false` for the message of a host that is not remembered, as there are too many.
  @discardableResult
  package mutating func hear(_ message: FleetMessage, at now: HTTPDate) -> Bool {
    forget(at: now)
    if message.isLeaving == true {
      if peers[message.host]?.process == message.process { peers[message.host] = nil }
      return true
    }
    let former = peers[message.host]
    guard former != nil || peers.count < Self.limit else { return false }
    peers[message.host] = Peer(
      name: message.host, process: message.process,
      sequence: former?.process == message.process ? max(message.sequence, former?.sequence ?? 0) : message.sequence,
      heard: now, report: message.report ?? former?.report)
    return true
  }

  private mutating func forget(at now: HTTPDate) {
    guard peers.values.contains(where: { !isPresent($0, now) }) else { return }
    peers = peers.filter { isPresent($0.value, now) }
  }

  private func isPresent(_ peer: Peer, _ now: HTTPDate) -> Bool {
    now.secondsSinceEpoch - peer.heard.secondsSinceEpoch < Self.memory
  }

  /// The hosts that belong to the fleet, in the order of their names.
  package func present(at now: HTTPDate) -> [Peer] {
    peers.values.filter { isPresent($0, now) }.sorted { $0.name < $1.name }
  }

  /// The names of the hosts that have applied an order, and of those that have not.
  package func applied(_ sequence: UInt64, at now: HTTPDate) -> (by: [String], notBy: [String]) {
    let present = present(at: now)
    return (
      present.filter { $0.sequence >= sequence }.map(\.name), present.filter { $0.sequence < sequence }.map(\.name)
    )
  }

  /// The seconds between two messages of a host: with many hosts each tells less often, so that the messages of all stay
  /// at about a hundred a second.
  package func period(at now: HTTPDate) -> Double { max(1, Double(present(at: now).count) / 100) }
}
