/// The state of one origin behind the gateway, for the dashboard. Counts are since the start.
package struct OriginStatus: Codable, Sendable {
  var name: String
  var url: String
  /// Whom it answers: hosts and beginnings of paths; empty for all.
  var hosts: [String]
  var prefixes: [String]
  /// True if requests are sent to it.
  var isUp: Bool
  /// By ``GatewayResult``.
  var answers: [String: Int64]
  /// The share of answers that the origin did not have to send, from 0 to 1; `nil` without requests.
  var hitRatio: Double?
  /// Bytes of bodies that it did not have to send.
  var savedBytes: Int64
  /// Seconds until the head of its answer was there; `nil` without answers.
  var median: Double?
  var p95: Double?
}
