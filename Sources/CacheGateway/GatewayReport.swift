import CoreMetrics
import HTTPCache
import HTTPTransport
import ServerKit
import Synchronization

/// Reports the state of the origins to the dashboard and to metrics.
package struct GatewayReport: Sendable {
  let gateway: Gateway
  let metrics: HostMetrics
  private let known = Known()

  package init(gateway: Gateway, metrics: HostMetrics) { (self.gateway, self.metrics) = (gateway, metrics) }

  package func updateMetrics() async {
    for origin in known.removed(besides: gateway.origins) { forget(origin) }
    for origin in gateway.origins {
      await updateCache(of: origin)
      metrics.gatewayOriginUp(origin: origin.settings.name).set(origin.isUp ? 1 : 0)
      for (server, isUp) in zip(origin.servers.urls, origin.servers.areUp) where origin.settings.healthPath != nil {
        metrics.gatewayServerUp(origin: origin.settings.name, server: server.origin).set(isUp ? 1 : 0)
      }
    }
  }

  private func updateCache(of origin: GatewayOrigin) async {
    let name = origin.settings.name
    let cache = origin.loader.cache
    guard let usage = try? await cache.usage() else { return }
    let tiers = [
      ("memory", usage.memory.entries, usage.memory.bytes, cache.memoryCapacity, cache.memoryEvictions),
      ("disk", usage.disk.entries, Int(usage.disk.bytes), Int(usage.disk.capacity), usage.disk.evictions),
    ]
    for (tier, entries, bytes, capacity, count) in tiers {
      metrics.gatewayCache("entries", origin: name, tier: tier).set(entries)
      metrics.gatewayCache("bytes", origin: name, tier: tier).set(bytes)
      metrics.gatewayCache("capacity_bytes", origin: name, tier: tier).set(capacity)
      metrics.gatewayEvictions(origin: name, tier: tier).increment(
        by: known.increment(to: count, of: "\(name) \(tier)"))
    }
  }

  /// Ends the gauges of an origin that was removed; its counts stay.
  private func forget(_ origin: OriginSettings) {
    metrics.gatewayOriginUp(origin: origin.name).destroy()
    for server in origin.servers { metrics.gatewayServerUp(origin: origin.name, server: server.origin).destroy() }
    for tier in ["memory", "disk"] {
      for what in ["entries", "bytes", "capacity_bytes"] {
        metrics.gatewayCache(what, origin: origin.name, tier: tier).destroy()
      }
    }
  }

  /// The origins and the counts of the last update.
  private final class Known: Sendable {
    private let origins = Mutex<[String: OriginSettings]>([:])
    private let counts = Mutex<[String: Int]>([:])

    /// Returns the origins that were there before.
    func removed(besides origins: [GatewayOrigin]) -> [OriginSettings] {
      self.origins.withLock { known in
        let present = Dictionary(origins.map { ($0.settings.name, $0.settings) }) { first, _ in first }
        defer { known = present }
        return known.values.filter { present[$0.name] == nil }
      }
    }

    /// Returns the increment of a count that another type keeps.
    func increment(to count: Int, of name: String) -> Int {
      counts.withLock { counts in
        defer { counts[name] = count }
        return max(0, count - (counts[name] ?? 0))
      }
    }
  }

  /// The share of all origins' responses that they did not send, from 0 to 1; `nil` without requests.
  package var hitRatio: Double? {
    let shares = origins.map { origin in (ratio: origin.hitRatio ?? 0, answers: origin.answers.values.reduce(0, +)) }
    let answers = shares.reduce(0) { $0 + $1.answers }
    return answers == 0 ? nil : shares.reduce(0) { $0 + $1.ratio * Double($1.answers) } / Double(answers)
  }

  package var origins: [OriginStatus] {
    let families = Dictionary(metrics.registry.families.map { ($0.name, $0) }) { first, _ in first }
    return gateway.origins.map { origin in
      let settings = origin.settings
      func series(_ name: String) -> [(labels: MetricRegistry.Labels, series: MetricRegistry.Series)] {
        (families[name]?.series ?? [:]).filter { $0.key["origin"] == settings.name }.map { ($0.key, $0.value) }
      }
      var answers: [String: Int64] = [:]
      for case (let labels, .counter(let counter)) in series("renderhost_gateway_answers") {
        if let result = labels["result"] { answers[result] = counter.value }
      }
      var savedBytes: Int64 = 0
      for case (_, .counter(let counter)) in series("renderhost_gateway_saved_bytes") { savedBytes += counter.value }
      var times: HistogramSeries?
      for case (_, .histogram(let histogram)) in series("renderhost_gateway_origin_seconds") { times = histogram }
      func quantile(_ quantile: Double) -> Double? {
        times.flatMap { $0.value.quantile(quantile, bounds: $0.bounds) }
      }
      return OriginStatus(
        name: settings.name, url: settings.url.origin, hosts: settings.hosts, prefixes: settings.prefixes,
        isUp: origin.isUp, answers: answers, hitRatio: Self.hitRatio(answers), savedBytes: savedBytes,
        median: quantile(0.5), p95: quantile(0.95))
    }
  }

  /// Returns the share of responses whose bodies the origin did not send.
  static func hitRatio(_ answers: [String: Int64]) -> Double? {
    let all = answers.values.reduce(0, +)
    let saved = GatewayResult.allCases.filter(\.isSaved).reduce(0) { $0 + (answers[$1.rawValue] ?? 0) }
    return all > 0 ? Double(saved) / Double(all) : nil
  }
}

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
