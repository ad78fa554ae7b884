import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServerKit

/// `POST /admin/gateway/purge`, which answers `{"purged": N}`.
package struct PurgeRoute: Sendable {
  /// Purges and returns the number of responses; `nil` if there is no gateway.
  let purge: (@Sendable (PurgeOrder) async throws -> Int)?

  package init(
    purge: (@Sendable (PurgeOrder) async throws -> Int)?
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
        let count = try await purge(order)
        context.requestLogger.notice(
          "The gateway was purged",
          metadata: ["kind": "\(order.selection.kind)", "soft": "\(order.isSoft)", "purged": "\(count)"])
        return JSONAnswer.json(["purged": count])
      } catch let error where !(error is PurgeError) {
        context.requestLogger.error("The gateway was not purged", metadata: ["error": "\(error)"])
        throw PurgeError("\(error)", status: .internalServerError)
      }
    }
  }
}
