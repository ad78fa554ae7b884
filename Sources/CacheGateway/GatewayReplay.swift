import HTTPCache
import HTTPTypes
import Hummingbird
import ServerKit

/// Lets the gateway's listener answer identical request heads with the same bytes.
enum GatewayReplay {
  /// Fields with the client's address, or that are made anew for each request: they do not follow from its head alone.
  private static let ofClient: Set<String> = ["forwarded", "x-forwarded-for", "traceparent", "tracestate"]

  /// - Parameter note: called for each replay.
  static func offer(
    _ loaded: Resource, to request: Request, note: @escaping @Sendable (RecordedResponse.ReplayEvent) -> Void
  ) {
    guard let context = ReplayContext.current, let replay = loaded.replay,
      replay.chosenBy.isDisjoint(with: ofClient),
      !request.headers.contains(.authorization)
    else { return }
    context.allow(aging: replay.age)
    context.onReplay { event in
      replay.use()
      note(event)
    }
  }
}
