import NIOCore

/// Answers known request heads with recorded bytes before HTTP's decoder sees them, and records the responses to
/// others.
///
/// It knows where a request begins only while each one arrives in one piece; after one that does not, the connection is
/// no longer replayed to.
final class ResponseReplayHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = IOData
  typealias OutboundOut = IOData

  private enum State {
    /// A request may begin.
    case idle
    /// A response is being written; it is recorded if it may be remembered. A client that has all bytes may send further
    /// requests before the end of the response is reported here: `behind` counts them.
    case answering(ResponseRecording?, behind: Int)
    /// The beginnings of requests are unknown.
    case lost
  }

  let replayContext = ReplayContext()
  private let connection: ConnectionHandler
  /// The handler that closes idle connections sees only requests that are not replayed; this is the longest time
  /// between two of them.
  private let longWayEvery: Duration
  private var lastLongWay = ContinuousClock.now
  private var state = State.idle

  private var common: ConnectionContext { connection.common }

  /// - Parameter idle: the time after which an idle connection is closed.
  init(_ connection: ConnectionHandler, idle: Duration) {
    self.connection = connection
    longWayEvery = idle / 4
  }

  func handlerAdded(context: ChannelHandlerContext) {
    common.change(context.channel) { $0.replay = replayContext }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .lost = state { return context.fireChannelRead(data) }
    let bytes = unwrapInboundIn(data)
    // The last answer of a connection says that it is the last.
    guard !connection.isStopping, RecordedResponses.isWholeHead(bytes) else {
      state = .lost
      return context.fireChannelRead(data)
    }
    if case .answering(_, let behind) = state {
      // Parts of its response may be reported during the one before: neither is recorded.
      state = .answering(nil, behind: behind + 1)
      return context.fireChannelRead(data)
    }
    let now = ContinuousClock.now
    if now - lastLongWay < longWayEvery, context.channel.isWritable, let known = common.memory.answer(to: bytes),
      give(known.answer, age: known.age, since: now, context)
    {
      return
    }
    lastLongWay = now
    state = .answering(ResponseRecording(of: bytes), behind: 0)
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .answering(var recording?, _) = state {
      // Else the list of pieces would have two owners, and be copied.
      state = .answering(nil, behind: 0)
      if case .byteBuffer(let buffer) = unwrapOutboundIn(data), recording.add(buffer) {
        state = .answering(recording, behind: 0)
      }
    }
    context.write(data, promise: promise)
  }

  /// Records that the last byte of a response was written.
  ///
  /// - Parameter isNext: `true` if the next bytes begin a request.
  func answered(isNext: Bool) {
    let offer = replayContext.removeOffer()
    guard case .answering(let recording, let behind) = state else { return }
    if behind > 0 {
      state = .answering(nil, behind: behind - 1)
      return
    }
    state = isNext ? .idle : .lost
    guard isNext, let recording, let offer else { return }
    recording.remember(offer, in: common.memory)
  }

  /// - Returns: `false` if the answer cannot be given, so that nothing was done.
  private func give(
    _ answer: RecordedResponse, age: Int64, since started: ContinuousClock.Instant, _ context: ChannelHandlerContext
  ) -> Bool {
    let renewed = common.renewed(age: age)
    guard let (head, body) = answer.buffers(renewed, context.channel.allocator) else { return false }
    connection.headArrived()
    connection.awaitHead()
    context.write(wrapOutboundOut(.byteBuffer(head)), promise: nil)
    if let body { context.write(wrapOutboundOut(.byteBuffer(body)), promise: nil) }
    // The counters are updated before the client can ask for them.
    answer.reportReplay(renewed.requestID, to: common.address, since: started)
    context.flush()
    return true
  }
}
