import NIOCore

/// Watches the raw bytes of a connection, before TLS and HTTP, and limits the time for the handshake and the first
/// head. HTTP's decoder limits the length of a head.
final class ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = IOData
  typealias OutboundOut = IOData

  private let headTime: TimeAmount
  private let patience: TimeAmount
  private var deadline: Scheduled<Void>?
  /// `true` if HTTP/1 is spoken and a head is next.
  private var isWaiting = false
  private var hasBytes = false
  /// `true` if the request line is complete; unknown under TLS.
  private(set) var hasLine = false
  private let isPlain: Bool
  let common: ConnectionContext
  private var closing: ClosingConnection?
  /// `true` once slow clients are no longer waited for.
  private var isOutOfTime = false

  init(limits: ServerSettings.Limits, isPlain: Bool, common: ConnectionContext) {
    (headTime, self.isPlain, self.common) = (TimeAmount(limits.headTime), isPlain, common)
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
    // Later requests are not answered.
    guard closing == nil else { return }
    hasBytes = true
    if isWaiting, !hasLine { hasLine = !isPlain || unwrapInboundIn(data).readableBytesView.contains(0x0A) }
    context.fireChannelRead(data)
  }

  /// Lets a slow client receive all written bytes before the connection is closed.
  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    // The time of the shutdown is over. This may happen before or after the close.
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

  /// Starts to wait for a head.
  func awaitHead() { (isWaiting, hasLine) = (true, false) }

  /// Ends the wait for a head.
  func headArrived() {
    deadline?.cancel()
    deadline = nil
    isWaiting = false
  }

  private func expire(_ context: ChannelHandlerContext) {
    deadline = nil
    // Before HTTP has begun, no answer can be sent.
    if hasBytes, isWaiting {
      context.fireErrorCaught(SlowHeadError())
    } else {
      context.close(promise: nil)
    }
  }
}

/// The head of a request took too long.
struct SlowHeadError: Error {}
