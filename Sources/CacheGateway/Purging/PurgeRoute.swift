import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServerKit

/// The number of purged responses and, in a fleet, the hosts that have carried the order out (`confirmed`) and those that
/// have not (`missing`).
package struct PurgeAnswer: Codable, Equatable, Sendable {
  package var purged: Int
  package var confirmed: [String]?
  package var missing: [String]?

  package init(purged: Int, confirmed: [String]? = nil, missing: [String]? = nil) {
    (self.purged, self.confirmed, self.missing) = (purged, confirmed, missing)
  }
}

/// `POST /admin/gateway/purge`, which answers with a ``PurgeAnswer``.
package struct PurgeRoute: Sendable {
  /// Purges; `nil` if there is no gateway.
  let purge: (@Sendable (PurgeOrder) async throws -> PurgeAnswer)?

  package init(
    purge: (@Sendable (PurgeOrder) async throws -> PurgeAnswer)?
  ) {
    self.purge = purge
  }

  private static let bodyLimit = 256 << 10

  package func add(to router: some RouterMethods<HostRequestContext>) {
    router.post("gateway/purge") { request, context in
      guard let purge else {
        throw PurgeError("this host has no gateway to purge; it is started with --gateway", status: .notFound)
      }
      let order = try PurgeOrder(json: try await request.bytes(upTo: Self.bodyLimit))
      do {
        let answer = try await purge(order)
        context.requestLogger.notice(
          "The gateway was purged",
          metadata: ["kind": "\(order.selection.kind)", "soft": "\(order.isSoft)", "purged": "\(answer.purged)"])
        return JSONAnswer.json(answer)
      } catch let error where !(error is PurgeError) {
        context.requestLogger.error("The gateway was not purged", metadata: ["error": "\(error)"])
        throw PurgeError("\(error)", status: .internalServerError)
      }
    }
  }
}
