import NIOCore
import NIOHTTP1

/// Tells those behind it in one way that a connection ends with a request: as `Connection: close`.
///
/// RFC 9112 §9.3: the option may be one of several and in capitals; and with HTTP/1.0 a connection that stays has to be
/// asked for, which is not offered here.
final class LastRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart

  /// Options that are no fields of this connection alone, whoever lists them.
  private static let kept: Set<String> = ["host", "content-length", "transfer-encoding", "cache-control"]

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(var head) = unwrapInboundIn(data), !head.isKeepAlive || head.version != .http1_1 else {
      return context.fireChannelRead(data)
    }
    // RFC 9110 §7.6.1: what the field lists goes no further; who forwards the request must not have to know it.
    for option in head.headers[canonicalForm: "connection"] where !Self.kept.contains(option.lowercased()) {
      head.headers.remove(name: String(option))
    }
    head.headers.replaceOrAdd(name: "Connection", value: "close")
    context.fireChannelRead(wrapInboundOut(.head(head)))
  }
}
