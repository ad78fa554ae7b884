import HTTPCache
import HTTPTypes
import Hummingbird
import PageLoading
import ServerKit

/// Lets the gateway's listener give a stored answer again to who asks in the same words.
enum GatewayRecall {
  /// Fields with the client's address, or that are made anew for each request: they do not follow from its head alone.
  private static let ofClient: Set<String> = ["forwarded", "x-forwarded-for", "traceparent", "tracestate"]

  /// - Parameter note: called whenever the answer is given again.
  static func offer(
    _ loaded: Resource, to request: Request, note: @escaping @Sendable (RecalledAnswer.Again) -> Void
  ) {
    guard let slot = RecallSlot.current, let replay = loaded.replay, replay.chosenBy.isDisjoint(with: ofClient),
      !request.headers.contains(.authorization)
    else { return }
    slot.allow(aging: replay.age)
    slot.onRecall { again in
      replay.use()
      note(again)
    }
  }
}
