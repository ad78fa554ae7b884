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
  package var confirmation: Confirmation?
  package var report: Report?
  /// `true` for the last message of a host that stops.
  package var isLeaving: Bool?

  package static let byteLimit = 4 << 10

  package init(host: String, process: String, sequence: UInt64) {
    (self.host, self.process, self.sequence) = (host, process, sequence)
  }

  /// - Returns: `nil` for bytes that are no message.
  package init?(reading bytes: [UInt8]) {
    guard bytes.count <= Self.byteLimit, let value = try? JSONValue(reading: bytes),
      let message = try? value.decoded(as: FleetMessage.self), FleetName(message.host) != nil
    else { return nil }
    self = message
  }

  package var bytes: [UInt8] { (try? JSONEncoder().encode(self)).map { Array($0) } ?? [] }
}
