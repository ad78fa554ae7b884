import HTTPTypes
import Hummingbird
import PageLoading

/// Lets the gateway's listener give a stored answer again to who asks in the same words.
enum GatewayRecall {
  /// What the client's address goes into, or what is made anew each time: it is no matter of a request's words alone.
  private static let ofClient: Set<String> = ["forwarded", "x-forwarded-for", "traceparent", "tracestate"]

  /// - Parameter note: called whenever the answer is given again.
  static func offer(
    _ loaded: Loaded, to request: Request, note: @escaping @Sendable (RecalledAnswer.Again) -> Void
  ) {
    guard let slot = RecallSlot.current, let standing = loaded.standing, standing.chosenBy.isDisjoint(with: ofClient),
      !request.headers.contains(.authorization)
    else { return }
    slot.allow(aging: standing.age)
    slot.onRecall { again in
      standing.use()
      note(again)
    }
  }
}
