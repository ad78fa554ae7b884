import NIOCore
import NIOHTTP1
import Synchronization

/// Remembers the head of the answer to the opening request, and then gets out of the way.
final class ResponseHeadObserver: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = HTTPClientResponsePart
  typealias InboundOut = HTTPClientResponsePart

  private let seen = Mutex<HTTPResponseHead?>(nil)

  var head: HTTPResponseHead? { seen.withLock(\.self) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .head(let head) = unwrapInboundIn(data) { seen.withLock { $0 = head } }
    context.fireChannelRead(data)
    // What comes after an upgrade is no HTTP.
    if head != nil { context.pipeline.syncOperations.removeHandler(self, promise: nil) }
  }
}
