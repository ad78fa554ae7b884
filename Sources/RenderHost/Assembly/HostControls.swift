import CacheGateway
import ServerKit

/// The controls of the daemon: those of its server, its status, and the gateway's purge.
struct HostControls: Sendable {
  var server = ServerControls()
  /// The status that the dashboard shows, without checks and traffic.
  var status: @Sendable () async -> HostStatus
  /// Halts the release that is served, or lifts the halt, and returns the release's name; `nil` without bundles.
  var setHalted: (@Sendable (Bool) async throws -> String)?
  /// Purges responses that the gateway stores; `nil` if there is no gateway.
  var purge: (@Sendable (PurgeOrder) async throws -> PurgeAnswer)?
}
