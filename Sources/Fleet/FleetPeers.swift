import Foundation
import HTTPTransport

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

/// A message between the hosts of a fleet, besides the orders: a sign of life, or the confirmation of an order.
package struct FleetMessage: Hashable, Codable, Sendable {
  /// An order that was carried out.
  package struct Confirmation: Hashable, Codable, Sendable {
    /// ``FleetOrder/id``.
    package var order: String
    /// The responses that were purged.
    package var purged: Int

    package init(order: String, purged: Int) { (self.order, self.purged) = (order, purged) }
  }

  /// The state of a host, for the dashboard.
  package struct Report: Hashable, Codable, Sendable {
    /// The release that is served.
    package var release: String?
    /// `true` if hosts are kept from the release.
    package var isHalted: Bool?
    /// The share of the gateway's answers that came from its cache, from 0 to 1.
    package var hits: Double?

    package init(release: String? = nil, isHalted: Bool? = nil, hits: Double? = nil) {
      (self.release, self.isHalted, self.hits) = (release, isHalted, hits)
    }
  }

  package var host: String
  /// Tells a process from others under the same name.
  package var process: String
  /// The sequence of the last order that was applied.
  package var sequence: UInt64
  /// ``JournalSpan/journal`` of the orders that the host follows; `nil` if it knows none yet, or is of the version before.
  package var journal: Int64?
  package var confirmation: Confirmation?
  package var report: Report?
  /// `true` for the last message of a host that stops.
  package var isLeaving: Bool?

  package static let byteLimit = 4 << 10
  /// The most responses that a host can have purged: counts of all hosts can be added.
  static let purgeLimit = 1 << 40

  package init(host: String, process: String, sequence: UInt64, journal: Int64? = nil) {
    (self.host, self.process, self.sequence, self.journal) = (host, process, sequence, journal)
  }

  /// - Returns: `nil` for bytes that are no message, or have numbers that no host sends.
  package init?(reading bytes: [UInt8]) {
    guard bytes.count <= Self.byteLimit, let value = try? JSONValue(reading: bytes),
      let message = try? value.decoded(as: FleetMessage.self), FleetName(message.host) != nil,
      message.confirmation.map({ (0...Self.purgeLimit).contains($0.purged) }) ?? true,
      message.report?.hits.map({ (0...1).contains($0) }) ?? true
    else { return nil }
    self = message
  }

  package var bytes: [UInt8] { (try? JSONEncoder().encode(self)).map { Array($0) } ?? [] }
}

/// The state of a fleet as one host knows it, for `/status`.
package struct FleetStatus: Hashable, Codable, Sendable {
  package struct Peer: Hashable, Codable, Sendable {
    package var name: String
    /// The sequence of the last order that it is known to have carried out.
    package var sequence: UInt64
    /// The seconds since it was last heard of.
    package var silent: Int64
    package var report: FleetMessage.Report?
  }

  /// The outcome of an order that this host has given.
  package struct Order: Hashable, Codable, Sendable {
    package var sequence: UInt64
    package var text: String
    /// When it was no longer waited for, in seconds since 1970.
    package var at: Int64
    /// The responses that were purged by the hosts that have confirmed.
    package var purged: Int
    /// The names of the hosts that have carried it out, and of those that have not yet.
    package var confirmed: [String]
    package var missing: [String]
  }

  package var host: String
  package var phase: FleetPosition.Phase
  /// The sequence of the last order that was carried out.
  package var sequence: UInt64
  /// The orders that are known of, and not carried out yet.
  package var behind: UInt64
  /// The present problems, each as a clause.
  package var problems: [String]
  package var peers: [Peer]
  package var orders: [Order]
}

extension FleetOrder.Task {
  /// The order in one line.
  var summary: String {
    switch self {
    case .purge(let order): "purge " + String(decoding: order.text.prefix(200), as: UTF8.self)
    case .release(let name): "release \(name)"
    case .report(let report): "a report that release \(report.release.prefix(12)) is \(report.isBad ? "bad" : "good")"
    case .halt(let halt): "\(halt.isHalted ? "halt" : "resume") release \(halt.release.prefix(12))"
    case .unknown: "unknown"
    }
  }
}
