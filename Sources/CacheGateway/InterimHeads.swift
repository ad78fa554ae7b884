import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes
import ServerKit
import Synchronization

/// Forwards interim heads of the origin, such as 103, to the client. RFC 9110 §15.2, RFC 8297.
///
/// They bypass the response's writer and still arrive first: the channel keeps the order of writes, and the head of the
/// final response is written later.
final class InterimHeads: Sendable {
  /// `nil` for a client that gets none.
  ///
  /// The type is a class: with a function type the optimised program crashes at the first request (Swift 6.3).
  @TaskLocal static var current: InterimHeads?

  /// The limit of interim heads for one request; more are dropped.
  private static let limit = 16

  private let channel: any Channel
  private let count = Atomic<Int>(0)

  /// Returns `nil` if the client's HTTP version has no interim heads.
  init?(in version: RequestVersion, to channel: any Channel) {
    // RFC 9110 §15.2: HTTP/1.0 has no interim heads.
    if version == .http10 { return nil }
    self.channel = channel
  }

  func take(_ head: HTTPResponse) {
    guard count.wrappingAdd(1, ordering: .relaxed).newValue <= Self.limit else { return }
    let fields = GatewayFields.response(head.headerFields)
    let part = HTTPResponsePart.head(HTTPResponse(status: head.status, headerFields: fields))
    channel.writeAndFlush(part, promise: nil)
  }
}
