import NIOCore

/// Watches a connection's bytes, before TLS and HTTP are made of them: a client may neither take its time for its
/// first head nor send one without end.
final class ConnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private let headTime: TimeAmount
  private let headBytes: Int
  private var deadline: Scheduled<Void>?
  /// Bytes since the last request's end; nil while a body may come, or where HTTP/2 counts itself.
  private var waiting: Int?
  private var hasBytes = false
  /// Whether a request's line is complete; not known under TLS.
  private(set) var hasLine = false
  private let isPlain: Bool

  /// `headBytes` is the URL and the header together, on the wire.
  init(headTime: Duration, headBytes: Int, isPlain: Bool) {
    (self.headTime, self.headBytes, self.isPlain) = (TimeAmount(headTime), headBytes, isPlain)
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
    if let waiting {
      let buffer = unwrapInboundIn(data)
      if !hasLine { hasLine = !isPlain || buffer.readableBytesView.contains(0x0A) }
      let bytes = waiting + buffer.readableBytes
      self.waiting = bytes
      if bytes > headBytes { return context.fireErrorCaught(HeadError.tooLong) }
    }
    context.fireChannelRead(data)
  }

  /// A head may come now.
  func awaitHead() { (waiting, hasLine) = (0, false) }

  /// A head has come.
  func headArrived() {
    deadline?.cancel()
    deadline = nil
    waiting = nil
  }

  private func expire(_ context: ChannelHandlerContext) {
    deadline = nil
    // Before HTTP has begun there is nobody to tell.
    if hasBytes, waiting != nil {
      context.fireErrorCaught(HeadError.tooSlow)
    } else {
      context.close(promise: nil)
    }
  }
}

/// Why a request's head is given up.
enum HeadError: Error {
  case tooLong, tooSlow
}
