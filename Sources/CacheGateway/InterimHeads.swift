import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes
import ServerKit
import Synchronization

/// Interim heads of the origin, such as 103, on their way to the client. RFC 9110 §15.2, RFC 8297.
///
/// They are written past the answer's writer, and go out first all the same: the channel takes what it is given in
/// order, and is given the answer's head when that has come, which is later.
final class InterimHeads: Sendable {
  /// `nil` for a client that is to get none.
  ///
  /// A class: with a function's type in its place the optimised program ends at the first request (Swift 6.3).
  @TaskLocal static var current: InterimHeads?

  /// More for one request are left out.
  private static let limit = 16

  private let channel: any Channel
  private let count = Atomic<Int>(0)

  /// Returns `nil` if the client's version of HTTP has none.
  init?(in version: RequestVersion, to channel: any Channel) {
    // RFC 9110 §15.2: HTTP/1.0 knows none.
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
