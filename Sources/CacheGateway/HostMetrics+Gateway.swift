import CoreMetrics
import ServerKit

/// The metrics of the gateway.
extension HostMetrics {
  /// `renderhost_gateway_answers`: the number of requests by origin and result; see ``GatewayResult``.
  func gatewayAnswers(origin: String, _ result: GatewayResult) -> Counter {
    Counter(
      label: "renderhost_gateway_answers", dimensions: [("origin", origin), ("result", result.rawValue)],
      factory: registry)
  }

  /// `renderhost_gateway_saved_bytes`: the bytes of bodies that the origin did not send, by origin.
  func gatewaySavedBytes(origin: String) -> Counter { counter("renderhost_gateway_saved_bytes", "origin", origin) }

  /// `renderhost_gateway_origin_seconds`: the time until the head of the origin's response, by origin.
  func gatewayOriginTime(origin: String) -> Timer {
    Timer(label: "renderhost_gateway_origin_seconds", dimensions: [("origin", origin)], factory: registry)
  }

  /// `renderhost_gateway_origin_up`: 1, or 0 while the origin cannot be reached; by origin.
  func gatewayOriginUp(origin: String) -> Meter {
    Meter(label: "renderhost_gateway_origin_up", dimensions: [("origin", origin)], factory: registry)
  }

  /// `renderhost_gateway_server_up`: 1, or 0 while its checks fail; by origin and server, for servers with checks.
  func gatewayServerUp(origin: String, server: String) -> Meter {
    Meter(
      label: "renderhost_gateway_server_up", dimensions: [("origin", origin), ("server", server)], factory: registry)
  }

  /// `renderhost_gateway_cache_entries`, `…_bytes`, `…_capacity_bytes`: the stored responses, their bytes and the limit
  /// of these, by origin and tier: `memory`, `disk`.
  func gatewayCache(_ what: String, origin: String, tier: String) -> Meter {
    Meter(
      label: "renderhost_gateway_cache_\(what)", dimensions: [("origin", origin), ("tier", tier)], factory: registry)
  }

  /// `renderhost_gateway_evictions`: stored responses that were evicted, by origin and tier.
  func gatewayEvictions(origin: String, tier: String) -> Counter {
    Counter(
      label: "renderhost_gateway_evictions", dimensions: [("origin", origin), ("tier", tier)], factory: registry)
  }

  /// `renderhost_gateway_purged`: stored responses that were purged, by `kind` of selection (`url`, `prefix`, `tag`,
  /// `all`) and by `how`: `soft`, `hard`.
  func gatewayPurged(_ kind: String, isSoft: Bool) -> Counter {
    Counter(
      label: "renderhost_gateway_purged", dimensions: [("kind", kind), ("how", isSoft ? "soft" : "hard")],
      factory: registry)
  }

  package static let gatewayDescriptions: [String: MetricDescription] = [
    "renderhost_gateway_answers": .init(help: "Requests to the gateway, by origin and result."),
    "renderhost_gateway_saved_bytes": .init(help: "Bytes of bodies that origins did not send."),
    "renderhost_gateway_origin_seconds": .init(help: "Time until the head of an origin's answer."),
    "renderhost_gateway_origin_up": .init(help: "1 if requests are sent to an origin, otherwise 0."),
    "renderhost_gateway_server_up": .init(help: "1 if the checks of an origin's server succeed, otherwise 0."),
    "renderhost_gateway_cache_entries": .init(help: "Stored responses of an origin."),
    "renderhost_gateway_cache_bytes": .init(help: "Bytes of an origin's stored responses."),
    "renderhost_gateway_cache_capacity_bytes": .init(help: "Limit of an origin's stored responses in bytes."),
    "renderhost_gateway_evictions": .init(help: "Stored responses that were evicted."),
    "renderhost_gateway_purged": .init(help: "Stored responses that were purged."),
  ]
}
