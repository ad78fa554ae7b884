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
  /// `true` if HTTP/1 is spoken and a head has begun.
  private(set) var isHeadArriving = false
  /// `true` once the server ends. A handler that is added after the handshake was not told.
  private(set) var isStopping = false
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
    isHeadArriving = isWaiting
    if isWaiting, !hasLine { hasLine = !isPlain || unwrapInboundIn(data).readableBytesView.contains(0x0A) }
    context.fireChannelRead(data)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is ChannelShouldQuiesceEvent { isStopping = true }
    context.fireUserInboundEventTriggered(event)
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
  func awaitHead() { (isWaiting, isHeadArriving, hasLine) = (true, false, false) }

  /// Ends the wait for a head.
  func headArrived() {
    deadline?.cancel()
    deadline = nil
    (isWaiting, isHeadArriving) = (false, false)
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

/// Closes a connection after its client has received all written bytes, or has stopped reading.
final class ClosingConnection {
  private static let interval = TimeAmount.milliseconds(50)

  private let context: ChannelHandlerContext
  private let patience: TimeAmount
  private let options: any NIOSynchronousChannelOptions
  private var check: RepeatedTask?
  private var left: Int
  private var lastTaken = NIODeadline.now()

  /// Returns `nil` if no bytes wait to be sent.
  ///
  /// - Parameter patience: the time without progress after which a client counts as stopped.
  init?(_ context: ChannelHandlerContext, patience: TimeAmount) {
    guard let options = context.channel.syncOptions else { return nil }
    (self.context, self.options, self.patience) = (context, options, patience)
    left = Self.left(options)
    guard left > 0, context.channel.isActive else { return nil }
  }

  func begin() {
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    check = context.eventLoop.scheduleRepeatedTask(initialDelay: Self.interval, delay: Self.interval) { _ in
      bound.value.look(at: .now())
    }
  }

  func whenClosed(_ promise: EventLoopPromise<Void>?) { context.channel.closeFuture.cascade(to: promise) }

  /// Closes the connection at once.
  func end() {
    guard let check else { return }
    check.cancel()
    self.check = nil
    context.close(promise: nil)
  }

  private func look(at now: NIODeadline) {
    let remaining = Self.left(options)
    if remaining < left { (left, lastTaken) = (remaining, now) }
    if remaining == 0 || now - lastTaken > patience { end() }
  }

  private static func left(_ options: any NIOSynchronousChannelOptions) -> Int {
    (try? options.getOption(.bufferedWritableBytes)) ?? 0
  }
}
