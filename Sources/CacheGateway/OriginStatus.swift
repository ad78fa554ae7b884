/// The state of one origin behind the gateway, for the dashboard. Counts are since the start.
package struct OriginStatus: Codable, Sendable {
  var name: String
  var url: String
  /// The hosts and path prefixes that it serves; empty for all.
  var hosts: [String]
  var prefixes: [String]
  /// `true` if requests are sent to it.
  var isUp: Bool
  /// The number of requests by ``GatewayResult``.
  var answers: [String: Int64]
  /// The share of responses that the origin did not send, from 0 to 1; `nil` without requests.
  var hitRatio: Double?
  /// The bytes of bodies that it did not send.
  var savedBytes: Int64
  /// The median time in seconds until the head of its response; `nil` without responses.
  var median: Double?
  var p95: Double?
}
