import NIOCore
import NIOHTTP1

/// Tells those behind it in one way that a connection ends with a request: as `Connection: close`.
///
/// RFC 9112 §9.3: the option may be one of several and in capitals; and with HTTP/1.0 a connection that stays has to be
/// asked for, which is not offered here.
final class LastRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(var head) = unwrapInboundIn(data), !head.isKeepAlive || head.version != .http1_1 else {
      return context.fireChannelRead(data)
    }
    head.headers.replaceOrAdd(name: "Connection", value: "close")
    context.fireChannelRead(wrapInboundOut(.head(head)))
  }
}
