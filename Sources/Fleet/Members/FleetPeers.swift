/// The hosts of a fleet, as one of them knows them by their messages.
package struct FleetPeers: Hashable, Sendable {
  package struct Peer: Hashable, Sendable {
    package var name: String
    var process: String
    /// The sequence of the last order that it says it has applied.
    package var sequence: UInt64
    /// ``FleetTime/uptime`` of its last message.
    package var heard: Int64
    package var report: FleetMessage.Report?
    /// ``FleetTime/uptime`` of its first message; `nil` once there was another one later.
    var firstHeard: Int64?
  }

  /// The hosts, by their names.
  private var peers: [String: Peer] = [:]

  /// A host that is silent for so many seconds belongs to the fleet no more.
  package static let memory: Int64 = 600
  /// The seconds for a name that was heard of once: whoever can send a message can make up names.
  package static let newMemory: Int64 = 60
  /// The most hosts that are remembered, and those of them that were heard of once.
  package static let (limit, newLimit) = (2_000, 100)

  package init() {}

  /// - Parameter now: ``FleetTime/uptime``.
  /// - Returns: `false` for the message of a host that is not remembered, as there are too many.
  @discardableResult
  package mutating func hear(_ message: FleetMessage, at now: Int64) -> Bool {
    forget(at: now)
    if message.isLeaving == true {
      if peers[message.host]?.process == message.process { peers[message.host] = nil }
      return true
    }
    let former = peers[message.host]
    if former == nil {
      guard peers.count < Self.limit, peers.values.count(where: { $0.firstHeard != nil }) < Self.newLimit else {
        return false
      }
    }
    let firstHeard = former.map { $0.firstHeard.flatMap { $0 < now ? nil : $0 } } ?? now
    peers[message.host] = Peer(
      name: message.host, process: message.process, sequence: message.sequence, heard: now,
      report: message.report ?? former?.report, firstHeard: firstHeard)
    return true
  }

  private mutating func forget(at now: Int64) {
    guard peers.values.contains(where: { !isPresent($0, now) }) else { return }
    peers = peers.filter { isPresent($0.value, now) }
  }

  private func isPresent(_ peer: Peer, _ now: Int64) -> Bool {
    now - peer.heard < (peer.firstHeard == nil ? Self.memory : Self.newMemory)
  }

  /// The hosts that belong to the fleet, in the order of their names.
  package func present(at now: Int64) -> [Peer] {
    peers.values.filter { isPresent($0, now) }.sorted { $0.name < $1.name }
  }

  /// Returns `true` if the sender of a message is a host that was heard of before, and in the same process.
  package func know(_ message: FleetMessage) -> Bool { peers[message.host]?.process == message.process }

  /// The seconds between two messages of a host: with many hosts each tells less often, so that the messages of all stay
  /// at about a hundred a second.
  package func period(at now: Int64) -> Double { max(1, Double(present(at: now).count) / 100) }
}
