import HTTPCache
import HTTPTypes
import ServerKit

/// Lets the gateway's listener answer identical request heads with recorded bytes.
enum GatewayReplay {
  /// The fields that depend on more than the request's head: the client's address, or values made for each request.
  private static func isOfClient(_ name: String) -> Bool {
    ["forwarded", "x-real-ip", "traceparent", "tracestate"].contains(name) || name.hasPrefix("x-forwarded-")
  }

  /// - Parameters:
  ///   - sender: its context takes the offer, if responses are recorded on its channel. Other origins end the offer.
  ///   - note: is called for each replay.
  static func offer(
    _ loaded: Resource, to request: HTTPRequest, from sender: ClientInfo,
    note: @escaping @Sendable (RecordedResponse.ReplayEvent) -> Void
  ) {
    guard let context = sender.replay, let replay = loaded.replay,
      !replay.chosenBy.contains(where: isOfClient),
      !request.headerFields.contains(.authorization)
    else { return }
    let (current, generation) = (sender.current, sender.generation)
    context.allow(aging: { current.isCurrent(generation) ? replay.age() : nil })
    context.onReplay { event in
      replay.use()
      note(event)
    }
  }
}
