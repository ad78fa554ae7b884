import NIOCore

/// TLS of a client on a channel.
///
/// Data that is written before the end of the handshake waits for it. Flushed data is encrypted only while the channel is
/// writable, so that the network's buffer is the only one that grows with it. Data of one read is decrypted and passed on
/// at once: a reader that wants less reads less.
final class TLSClientHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private enum Phase {
    /// The channel is not active yet.
    case idle
    case handshaking
    case open
    /// The channel is to be closed once everything flushed has been sent.
    case closing(EventLoopPromise<Void>)
    /// The end of TLS is being sent, after which the channel is closed.
    case ending(EventLoopPromise<Void>)
    case ended
  }

  private let session: TLSSession
  private let host: String
  private let closeTimeout: TimeAmount
  private var phase = Phase.idle
  private var pending = MarkedCircularBuffer<(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)>(initialCapacity: 4)
  /// The channel's output is to be closed, or was, once everything flushed has been sent.
  private var outputEnd: (promise: EventLoopPromise<Void>?, isSent: Bool)?
  /// `true` once the server has said that it sends nothing more.
  private var hasInputEnded = false
  private var isSending = false
  /// Nothing can be encrypted before more has come from the server: the rest of a message of TLS itself.
  private var needsInput = false
  /// The reason of the failure until it is passed on.
  private var unreported: (any Error)?
  /// `true` if something was passed on since the channel last said that a read is complete.
  private var hasPassedOn = false

  /// The most bytes of answers to the server, such as alerts, that wait for a server that does not read.
  private static let answerLimit = 1 << 16

  /// - Parameters:
  ///   - host: a name, or an address without brackets.
  ///   - closeTimeout: the longest time for what was flushed to be sent when the channel is closed.
  /// - Throws: ``TLSError``.
  init(_ context: TLSContext, host: String, closeTimeout: TimeAmount = .seconds(5)) throws {
    session = try TLSSession(context, host: host)
    self.host = host
    self.closeTimeout = closeTimeout
  }

  // MARK: The connection's beginning and end

  func handlerAdded(context: ChannelHandlerContext) {
    if context.channel.isActive { begin(context) }
  }

  func channelActive(context: ChannelHandlerContext) {
    begin(context)
    context.fireChannelActive()
  }

  private func begin(_ context: ChannelHandlerContext) {
    guard case .idle = phase else { return }
    phase = .handshaking
    advance(context)
  }

  func channelInactive(context: ChannelHandlerContext) {
    switch phase {
    case .idle, .handshaking: fail(TLSError.endedEarly(host: host), context)
    case .open where !hasInputEnded: fail(TLSError.truncated(host: host), context)
    case .open, .closing, .ending, .ended: end(ChannelError.ioOnClosedChannel)?.succeed()
    }
    report(context)
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) { end(ChannelError.ioOnClosedChannel)?.succeed() }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case ChannelEvent.inputClosed? = event as? ChannelEvent else {
      return context.fireUserInboundEventTriggered(event)
    }
    // Of the connection. If TLS had ended before, the event was sent then.
    switch phase {
    case .idle, .handshaking: fail(TLSError.endedEarly(host: host), context)
    case .open where !hasInputEnded: fail(TLSError.truncated(host: host), context)
    case .open, .closing, .ending, .ended: break
    }
  }

  /// Stops encrypting and decrypting, and fails what was not sent.
  ///
  /// - Returns: the promise of a close that has waited for what was flushed, which the caller completes.
  private func end(_ error: any Error) -> EventLoopPromise<Void>? {
    defer { phase = .ended }
    failPending(error)
    outputEnd?.promise?.fail(error)
    outputEnd = nil
    switch phase {
    case .closing(let closed), .ending(let closed): return closed
    case .idle, .handshaking, .open, .ended: return nil
    }
  }

  private func failPending(_ error: any Error) {
    while let (_, promise) = pending.popFirst() { promise?.fail(error) }
  }

  private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
    let closed = end(error)
    unreported = error
    // An alert for the server. If it cannot be written, the channel may become inactive on the way.
    sendOutput(context)
    report(context)
    if context.channel.isActive { context.close(promise: closed) } else { closed?.succeed() }
  }

  /// Passes on the reason of the failure, once, and before the channel is inactive.
  private func report(_ context: ChannelHandlerContext) {
    guard let error = unreported else { return }
    unreported = nil
    context.fireErrorCaught(error)
  }

  // MARK: Reading

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch phase {
    case .handshaking, .open: break
    // While the channel is being closed, what comes is dropped, unless what was flushed waits for it.
    case .closing where needsInput: break
    case .idle, .closing, .ending, .ended: return
    }
    guard !hasInputEnded else { return }
    let bytes = unwrapInboundIn(data)
    do { try session.receive(bytes) } catch { return fail(error, context) }
    if case .handshaking = phase { advance(context) }
    switch phase {
    case .open, .closing: decrypt(bytes.readableBytes, context)
    case .idle, .handshaking, .ending, .ended: break
    }
  }

  private func advance(_ context: ChannelHandlerContext) {
    do {
      let isDone = try session.handshake()
      sendOutput(context)
      // Writing may have failed, and ended it.
      guard isDone, case .handshaking = phase else { return }
      phase = .open
      send(context)
    } catch {
      fail(error, context)
    }
  }

  private func decrypt(_ count: Int, _ context: ChannelHandlerContext) {
    var data = context.channel.allocator.buffer(capacity: count)
    let result = Result { try session.read(into: &data) }
    let mustSend = needsInput
    needsInput = false
    if case .open = phase, data.readableBytes > 0 {
      hasPassedOn = true
      context.fireChannelRead(wrapInboundOut(data))
    }
    switch phase {
    case .open: break
    case .closing where mustSend: break
    case .idle, .handshaking, .closing, .ending, .ended: return
    }
    switch result {
    case .success(true):
      answer(context)
      if mustSend { send(context) }
    // What waits for the rest of a message of the server can no longer be sent.
    case .success(false) where mustSend: fail(TLSError.truncated(host: host), context)
    case .success(false): inputEnded(context)
    case .failure(let error): fail(error, context)
    }
  }

  /// Answers what the server asks TLS for. A server that asks for more and reads nothing is given up.
  private func answer(_ context: ChannelHandlerContext) {
    if context.channel.isWritable {
      sendOutput(context)
    } else if session.outputCount > Self.answerLimit {
      fail(TLSError.failed(host: host, reason: "the server does not read what it asks for"), context)
    }
  }

  private func inputEnded(_ context: ChannelHandlerContext) {
    hasInputEnded = true
    let mayStayOpen = try? context.channel.syncOptions?.getOption(.allowRemoteHalfClosure)
    if mayStayOpen == true {
      context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    } else {
      close(context: context, mode: .all, promise: nil)
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    // Who has asked for a read waits for data, and has got none yet.
    if !hasPassedOn, !hasInputEnded { context.read() }
    hasPassedOn = false
    context.fireChannelReadComplete()
  }

  // MARK: Writing

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch phase {
    case .idle, .handshaking, .open:
      if outputEnd != nil {
        promise?.fail(ChannelError.outputClosed)
      } else {
        pending.append((unwrapOutboundIn(data), promise))
      }
    case .closing, .ending, .ended: promise?.fail(ChannelError.ioOnClosedChannel)
    }
  }

  func flush(context: ChannelHandlerContext) {
    switch phase {
    case .idle, .handshaking, .open: if outputEnd == nil { pending.mark() }
    // What was not flushed before the channel was closed is not sent.
    case .closing, .ending, .ended: break
    }
    send(context)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    send(context)
    context.fireChannelWritabilityChanged()
  }

  /// Encrypts and sends what is flushed, for as long as the channel is writable.
  private func send(_ context: ChannelHandlerContext) {
    guard mayEncrypt, !isSending else { return }
    // Writing and flushing may call this again.
    isSending = true
    do {
      while mayEncrypt, context.channel.isWritable, pending.hasMark && !needsInput || session.outputCount > 0 {
        try encrypt(context)
        context.flush()
      }
    } catch {
      fail(error, context)
    }
    isSending = false
    if mayEncrypt, !pending.hasMark { endOutput(context) }
    // Also if nobody has asked for data.
    if mayEncrypt, needsInput { context.read() }
  }

  private var mayEncrypt: Bool {
    switch phase {
    case .open, .closing: true
    case .idle, .handshaking, .ending, .ended: false
    }
  }

  /// Encrypts as much as the channel takes.
  private func encrypt(_ context: ChannelHandlerContext) throws {
    if let answers = session.takeOutput(context.channel.allocator) {
      context.write(wrapOutboundOut(answers), promise: nil)
    }
    while mayEncrypt, !needsInput, context.channel.isWritable, pending.hasMark, var (bytes, promise) = pending.first {
      var count = 0
      while !needsInput, bytes.readableBytes > 0, count < 4 {
        needsInput = try !session.write(&bytes)
        count += 1
      }
      if bytes.readableBytes > 0 {
        pending[pending.startIndex].bytes = bytes
        promise = nil
      } else {
        _ = pending.popFirst()
      }
      let output = session.takeOutput(context.channel.allocator) ?? ByteBuffer()
      context.write(wrapOutboundOut(output), promise: promise)
    }
  }

  /// Sends what TLS itself has to say.
  @discardableResult
  private func sendOutput(_ context: ChannelHandlerContext) -> EventLoopFuture<Void> {
    guard let output = session.takeOutput(context.channel.allocator) else {
      return context.eventLoop.makeSucceededVoidFuture()
    }
    return context.writeAndFlush(wrapOutboundOut(output))
  }

  // MARK: Closing

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    switch (mode, phase) {
    case (.input, _): context.close(mode: .input, promise: promise)
    case (.output, .open):
      guard outputEnd == nil else {
        promise?.fail(ChannelError.outputClosed)
        return
      }
      outputEnd = (promise, false)
      send(context)
    case (.all, .open):
      let closed = promise ?? context.eventLoop.makePromise()
      phase = .closing(closed)
      let alarm = context.eventLoop.assumeIsolated().scheduleTask(in: closeTimeout) { context.close(promise: nil) }
      closed.futureResult.whenComplete { _ in alarm.cancel() }
      send(context)
    case (_, .closing(let closed)), (_, .ending(let closed)):
      if let promise { closed.futureResult.cascade(to: promise) }
    case (_, .idle), (_, .handshaking), (_, .ended):
      _ = end(ChannelError.ioOnClosedChannel)
      context.close(mode: mode, promise: promise)
    }
  }

  /// Ends TLS, and then the connection or its output: all that was flushed has been sent.
  private func endOutput(_ context: ChannelHandlerContext) {
    guard owesEnd || isClosing else { return }
    if owesEnd, !session.endOutput() {
      needsInput = true
      return
    }
    if let (promise, isSent) = outputEnd, !isSent {
      outputEnd = (nil, true)
      failPending(ChannelError.outputClosed)
      sendOutput(context)
      context.close(mode: .output, promise: promise)
    }
    guard case .closing(let closed) = phase else { return }
    phase = .ending(closed)
    // The promise is completed when the channel is inactive.
    sendOutput(context).assumeIsolated().whenComplete { _ in context.close(promise: nil) }
  }

  private var isClosing: Bool { if case .closing = phase { true } else { false } }

  /// The server is to be told that nothing more is sent.
  private var owesEnd: Bool { outputEnd.map { !$0.isSent } ?? isClosing }
}
