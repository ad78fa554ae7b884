import CoreMetrics
import HTTPCache
import HTTPTransport
import ServerKit

/// Purges the gateway's stored responses.
package struct GatewayPurge: Sendable {
  let gateway: Gateway
  let metrics: HostMetrics

  package init(of gateway: Gateway, metrics: HostMetrics) { (self.gateway, self.metrics) = (gateway, metrics) }

  /// - Throws: ``PurgeError`` for an order that no origin can carry out.
  package func check(_ order: PurgeOrder) throws { _ = try checkedSelections(order, gateway.origins) }

  private func checkedSelections(_ order: PurgeOrder, _ origins: [GatewayOrigin]) throws -> [ResponseSelection?] {
    let selections = try selections(order.selection, origins)
    guard selections.contains(where: { $0 != nil }) else {
      throw PurgeError("no origin of this gateway has that host: expected the host of an origin, or a path")
    }
    return selections
  }

  /// - Returns: the number of purged responses.
  /// - Throws: ``PurgeError``, ``StoreError``.
  package func callAsFunction(_ order: PurgeOrder) async throws -> Int {
    let origins = gateway.origins
    let selections = try checkedSelections(order, origins)
    var count = 0
    for (origin, selection) in zip(origins, selections) {
      guard let selection else { continue }
      let met = try await origin.loader.purge(selection, isSoft: order.isSoft)
      metrics.gatewayPurged(order.selection.kind, isSoft: order.isSoft).increment(by: Int64(met))
      count += met
    }
    return count
  }

  /// The selection for each origin; `nil` for an origin that the order does not concern.
  private func selections(_ selection: PurgeOrder.Selection, _ origins: [GatewayOrigin]) throws -> [ResponseSelection?]
  {
    switch selection {
    case .all: return origins.map { _ in .all }
    case .tags(let tags): return origins.map { _ in .tags(tags) }
    case .url(let text), .prefix(let text):
      let target = try PurgeTarget(text, isPrefix: selection.kind == "prefix")
      return try origins.map { try target.selection(of: $0.settings, in: .shared) }
    }
  }
}
