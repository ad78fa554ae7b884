import NIOCore

/// Watches a connection's bytes, before TLS and HTTP are made of them: a client may not take its time for the
/// handshake and its first head. How long a head may be, HTTP's decoder sees to.
final class ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = IOData
  typealias OutboundOut = IOData

  private let headTime: TimeAmount
  private let patience: TimeAmount
  private var deadline: Scheduled<Void>?
  /// True if HTTP/1 is spoken and a head is next.
  private var isWaiting = false
  private var hasBytes = false
  /// True if a request's line is complete; not known under TLS.
  private(set) var hasLine = false
  private let isPlain: Bool
  private var closing: ClosingConnection?
  /// True once slow clients are no longer waited for.
  private var isOutOfTime = false

  init(limits: ServerSettings.Limits, isPlain: Bool) {
    (headTime, self.isPlain) = (TimeAmount(limits.headTime), isPlain)
    patience = TimeAmount(max(limits.idle, .seconds(10)))
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
    closing?.end()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // Further requests are not answered.
    guard closing == nil else { return }
    hasBytes = true
    if isWaiting, !hasLine { hasLine = !isPlain || unwrapInboundIn(data).readableBytesView.contains(0x0A) }
    context.fireChannelRead(data)
  }

  /// Lets a slow client take all that was written before the connection is closed.
  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    // The daemon is out of time; that may come before the close, and after it.
    if mode == .input { isOutOfTime = true }
    if let closing {
      if isOutOfTime { closing.end() }
      return closing.whenClosed(promise)
    }
    guard mode == .all, !isOutOfTime, let closing = ClosingConnection(context, patience: patience) else {
      return context.close(mode: mode, promise: promise)
    }
    self.closing = closing
    closing.whenClosed(promise)
    closing.begin()
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
