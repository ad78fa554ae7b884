import CoreMetrics
import ServerKit

/// The metrics of the gateway.
extension HostMetrics {
  /// `renderhost_gateway_answers`: by origin and result; see ``GatewayResult``.
  func gatewayAnswers(origin: String, _ result: GatewayResult) -> Counter {
    Counter(
      label: "renderhost_gateway_answers", dimensions: [("origin", origin), ("result", result.rawValue)],
      factory: registry)
  }

  /// `renderhost_gateway_saved_bytes`: bytes of bodies that the origin did not have to send, by origin.
  func gatewaySavedBytes(origin: String) -> Counter { counter("renderhost_gateway_saved_bytes", "origin", origin) }

  /// `renderhost_gateway_origin_seconds`: until the head of the origin's answer was there, by origin.
  func gatewayOriginTime(origin: String) -> Timer {
    Timer(label: "renderhost_gateway_origin_seconds", dimensions: [("origin", origin)], factory: registry)
  }

  /// `renderhost_gateway_origin_up`: 1, or 0 since it could not be reached; by origin.
  func gatewayOriginUp(origin: String) -> Meter {
    Meter(label: "renderhost_gateway_origin_up", dimensions: [("origin", origin)], factory: registry)
  }

  /// `renderhost_gateway_server_up`: 1, or 0 since checks found it to be down; by origin and server, where there are checks.
  func gatewayServerUp(origin: String, server: String) -> Meter {
    Meter(
      label: "renderhost_gateway_server_up", dimensions: [("origin", origin), ("server", server)], factory: registry)
  }

  /// `renderhost_gateway_cache_entries`, `…_bytes`, `…_capacity_bytes`: what is kept, and how much may be, by origin and
  /// tier: `memory`, `disk`.
  func gatewayCache(_ what: String, origin: String, tier: String) -> Meter {
    Meter(
      label: "renderhost_gateway_cache_\(what)", dimensions: [("origin", origin), ("tier", tier)], factory: registry)
  }

  /// `renderhost_gateway_evictions`: kept answers that had to make room, by origin and tier.
  func gatewayEvictions(origin: String, tier: String) -> Counter {
    Counter(
      label: "renderhost_gateway_evictions", dimensions: [("origin", origin), ("tier", tier)], factory: registry)
  }

  /// `renderhost_gateway_purged`: kept answers that purges met, by kind (`url`, `prefix`, `tag`, `all`) and by how:
  /// `soft`, `hard`.
  func gatewayPurged(_ kind: String, isSoft: Bool) -> Counter {
    Counter(
      label: "renderhost_gateway_purged", dimensions: [("kind", kind), ("how", isSoft ? "soft" : "hard")],
      factory: registry)
  }

  package static let gatewayDescriptions: [String: MetricDescription] = [
    "renderhost_gateway_answers": .init(help: "Requests to the gateway, by origin and by what became of them."),
    "renderhost_gateway_saved_bytes": .init(help: "Bytes of bodies that origins did not have to send."),
    "renderhost_gateway_origin_seconds": .init(help: "Time until the head of an origin's answer."),
    "renderhost_gateway_origin_up": .init(help: "Whether requests are sent to an origin."),
    "renderhost_gateway_server_up": .init(help: "Whether checks find a server of an origin to be up."),
    "renderhost_gateway_cache_entries": .init(help: "Answers of an origin that are kept."),
    "renderhost_gateway_cache_bytes": .init(help: "Bytes of an origin's answers that are kept."),
    "renderhost_gateway_cache_capacity_bytes": .init(help: "Bytes of an origin's answers that may be kept."),
    "renderhost_gateway_evictions": .init(help: "Kept answers that had to make room."),
    "renderhost_gateway_purged": .init(help: "Kept answers that purges met."),
  ]
}
