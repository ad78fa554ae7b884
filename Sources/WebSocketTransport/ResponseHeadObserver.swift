import NIOCore
import NIOHTTP1
import Synchronization

/// Stores the head of the answer to the opening request, and then removes itself from the pipeline.
final class ResponseHeadObserver: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = HTTPClientResponsePart
  typealias InboundOut = HTTPClientResponsePart

  private let seen = Mutex<HTTPResponseHead?>(nil)

  var head: HTTPResponseHead? { seen.withLock(\.self) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .head(let head) = unwrapInboundIn(data) { seen.withLock { $0 = head } }
    context.fireChannelRead(data)
    // After an upgrade no more HTTP comes.
    if head != nil { context.pipeline.syncOperations.removeHandler(self, promise: nil) }
  }
}
