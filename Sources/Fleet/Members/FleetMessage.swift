import Foundation
import HTTPTransport

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
