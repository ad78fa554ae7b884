import NIOCore
import NIOHTTP1

/// Marks the last request of a connection by `Connection: close` for the following handlers.
///
/// RFC 9112 §9.3: the option may be one of several, in any case; and an HTTP/1.0 client must ask for a persistent
/// connection, which is not offered here. After a request for another protocol no request is read.
final class LastRequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// The fields that are kept even if `Connection` lists them.
  private static let kept: Set<String> = ["host", "content-length", "transfer-encoding", "cache-control"]

  /// `true` if the last request has arrived and is an HTTP/1.0 request.
  private(set) var isOld = false
  private var hasLast = false
  /// The number of requests, up to the last one, whose answer is incomplete.
  private var underWay = 0

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
    if !hasLast { underWay += 1 }
    guard !head.isKeepAlive || head.version != .http1_1 || head.endsHTTP else { return context.fireChannelRead(data) }
    let asksForWebSocket = head.asksForWebSocket
    if !hasLast { (hasLast, isOld) = (true, head.version != .http1_1) }
    // RFC 9110 §7.6.1: the listed fields end at this hop. Code that forwards the request need not know of it.
    for option in head.headers[canonicalForm: "connection"] where !Self.kept.contains(option.lowercased()) {
      head.headers.remove(name: String(option))
    }
    head.headers.replaceOrAdd(name: "Connection", value: "close")
    // With this Connection field, Upgrade announces that the connection can become a web socket.
    head.headers.remove(name: "Upgrade")
    if asksForWebSocket { head.headers.add(name: "Upgrade", value: "websocket") }
    context.fireChannelRead(wrapInboundOut(.head(head)))
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch unwrapOutboundIn(data) {
    case .head(var head) where isOld && underWay == 1 && !head.headers.contains(name: "content-length"):
      // RFC 9112 §6.1: HTTP/1.0 has no chunks. The end of the connection ends such a body.
      head.version = .http1_0
      context.write(wrapOutboundOut(.head(head)), promise: promise)
    case .end:
      underWay -= 1
      context.write(data, promise: promise)
    default: context.write(data, promise: promise)
    }
  }
}
