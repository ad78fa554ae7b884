import NIOCore

/// Watches a connection's bytes, before TLS and HTTP are made of them: a client may not take its time for the
/// handshake and its first head. How long a head may be, HTTP's decoder sees to.
final class ConnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private let headTime: TimeAmount
  private var deadline: Scheduled<Void>?
  /// Whether HTTP/1 is spoken and a head is next.
  private var isWaiting = false
  private var hasBytes = false
  /// Whether a request's line is complete; not known under TLS.
  private(set) var hasLine = false
  private let isPlain: Bool

  init(headTime: Duration, isPlain: Bool) {
    (self.headTime, self.isPlain) = (TimeAmount(headTime), isPlain)
  }

  func channelActive(context: ChannelHandlerContext) {
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    deadline = context.eventLoop.scheduleTask(in: headTime) {
      let (handler, context) = bound.value
      handler.expire(context)
    }
    context.fireChannelActive()
  }

  func channelInactive(context: ChannelHandlerContext) {
    deadline?.cancel()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    hasBytes = true
    if isWaiting, !hasLine { hasLine = !isPlain || unwrapInboundIn(data).readableBytesView.contains(0x0A) }
    context.fireChannelRead(data)
  }

  /// A head may come now.
  func awaitHead() { (isWaiting, hasLine) = (true, false) }

  /// A head has come.
  func headArrived() {
    deadline?.cancel()
    deadline = nil
    isWaiting = false
  }

  private func expire(_ context: ChannelHandlerContext) {
    deadline = nil
    // Before HTTP has begun there is nobody to tell.
    if hasBytes, isWaiting {
      context.fireErrorCaught(SlowHeadError())
    } else {
      context.close(promise: nil)
    }
  }
}

/// A request's head took too long.
struct SlowHeadError: Error {}
