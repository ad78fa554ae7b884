import NIOCore
import NIOHTTP1

/// Marks the last request of a connection by `Connection: close` for the following handlers.
///
/// RFC 9112 §9.3: the option may be one of several and in capitals; and with HTTP/1.0 a connection that stays has to be
/// asked for, which is not offered here. Behind a request for another protocol no request is read any more.
final class LastRequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// Fields that are kept even if `Connection` lists them.
  private static let kept: Set<String> = ["host", "content-length", "transfer-encoding", "cache-control"]

  /// True if the last request has come and is one of HTTP/1.0.
  private(set) var isOld = false
  private var hasLast = false
  /// Requests without a whole answer, up to the last.
  private var underWay = 0

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
    if !hasLast { underWay += 1 }
    guard !head.isKeepAlive || head.version != .http1_1 || head.endsHTTP else { return context.fireChannelRead(data) }
    let asksForWebSocket = head.asksForWebSocket
    if !hasLast { (hasLast, isOld) = (true, head.version != .http1_1) }
    // RFC 9110 §7.6.1: what the field lists goes no further; who forwards the request must not have to know it.
    for option in head.headers[canonicalForm: "connection"] where !Self.kept.contains(option.lowercased()) {
      head.headers.remove(name: String(option))
    }
    head.headers.replaceOrAdd(name: "Connection", value: "close")
    // Beside this Connection it means that the connection can be a web socket's.
    head.headers.remove(name: "Upgrade")
    if asksForWebSocket { head.headers.add(name: "Upgrade", value: "websocket") }
    context.fireChannelRead(wrapInboundOut(.head(head)))
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch unwrapOutboundIn(data) {
    case .head(var head) where isOld && underWay == 1 && !head.headers.contains(name: "content-length"):
      // RFC 9112 §6.1: it knows no chunks. Such a body ends with its connection.
      head.version = .http1_0
      context.write(wrapOutboundOut(.head(head)), promise: promise)
    case .end:
      underWay -= 1
      context.write(data, promise: promise)
    default: context.write(data, promise: promise)
    }
  }
}
