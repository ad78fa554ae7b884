import HTTPTransport

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

  /// An order that this host has given.
  package struct Order: Hashable, Codable, Sendable {
    package var sequence: UInt64
    package var text: String
    /// In seconds since 1970.
    package var at: Int64
    package var purged: Int
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
