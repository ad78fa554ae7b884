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
  ///   - context: takes the offer; `nil` on a channel whose responses are not recorded.
  ///   - note: is called for each replay.
  static func offer(
    _ loaded: Resource, to request: HTTPRequest, in context: ReplayContext?,
    note: @escaping @Sendable (RecordedResponse.ReplayEvent) -> Void
  ) {
    guard let context, let replay = loaded.replay,
      !replay.chosenBy.contains(where: isOfClient),
      !request.headerFields.contains(.authorization)
    else { return }
    context.allow(aging: replay.age)
    context.onReplay { event in
      replay.use()
      note(event)
    }
  }
}
