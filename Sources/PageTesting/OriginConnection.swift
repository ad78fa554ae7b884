import HTTPTypes
import NIOCore
import NIOHTTP1

/// Answers the requests of one connection one after the other, with bytes that it encodes itself.
///
/// NIO decodes the requests. There is no encoder, because a fault must be able to violate every rule of HTTP.
final class OriginConnection: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = ByteBuffer

  private let monitor: Monitor<OriginState>
  private var number: Int?
  private var assembler: RequestAssembler
  /// The requests that were sent before their turn.
  private var pipeline: [ReceivedRequest] = []

  // The current exchange.
  private var exchange: Exchange?
  private var isSettled = false
  private var cursor: WireCursor?
  private var handling: Task<Void, Never>?
  private var gate: Int?
  private var timer: Scheduled<Void>?

  private var lastWrite: EventLoopFuture<Void>?
  private var isPumping = false

  init(_ monitor: Monitor<OriginState>, recordedBodyBytes: Int) {
    self.monitor = monitor
    assembler = RequestAssembler(recordedBodyBytes: recordedBodyBytes)
  }

  // MARK: Events

  func channelActive(context: ChannelHandlerContext) {
    let channel = context.channel
    number = monitor.change { $0.connectionOpened(channel) }
    if number == nil { context.close(promise: nil) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.cancel()
    handling?.cancel()
    if let gate { monitor.giveUp(gate, with: CancellationError()) }
    settle(isComplete: false)
    (exchange, cursor) = (nil, nil)
    pipeline = []
    if let number { monitor.change { $0.connectionClosed(number) } }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let part = unwrapInboundIn(data)
    let request = assembler.add(part, at: .now) { path in monitor.read { $0.isHeadEnough(path) } }
    if let request { pipeline.append(request) }
    if case .body(let bytes) = part, let path = assembler.path {
      monitor.change { $0.ledger.received(bytes.readableBytes, for: path) }
    }
    answerNext(context)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    pump(context)
    context.fireChannelWritabilityChanged()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard error is HTTPParserError, exchange == nil else { return context.close(promise: nil) }
    let head = HeadText.bytes(400, [.contentLength: "0", .connection: "close"])
    write(WirePiece(prefix: head, isLast: true), context)
    close(context)
  }

  // MARK: From the request to the plan

  private func answerNext(_ context: ChannelHandlerContext) {
    guard exchange == nil, let number, context.channel.isActive else { return }
    guard !pipeline.isEmpty else { return invitesBody(context) }
    let received = pipeline.removeFirst()
    let exchange = monitor.change { $0.admit(received, on: number) }
    self.exchange = exchange
    isSettled = false

    response(for: exchange, on: context.eventLoop).assumeIsolated().whenSuccess { [self] response in
      handling = nil
      whenReleased(exchange, context) { [self] in
        send(response, for: exchange, context)
      }
    }
  }

  /// RFC 9110 §10.1.1: a client may wait with its body for `100 Continue`.
  private func invitesBody(_ context: ChannelHandlerContext) {
    guard assembler.awaitsContinue else { return }
    assembler.answeredContinue()
    write(WirePiece(prefix: HeadText.bytes(100, [:]), isLast: false), context)
  }

  private func response(for exchange: Exchange, on eventLoop: any EventLoop) -> EventLoopFuture<OriginResponse> {
    let request = exchange.fault.view(of: exchange.request)
    switch exchange.route {
    case .content(let content):
      return eventLoop.makeSucceededFuture(content.response(to: request.method, request.headers))
    case .handler(let handler) where exchange.fault.needsContent:
      let promise = eventLoop.makePromise(of: OriginResponse.self)
      handling = promise.completeWithTask {
        do { return try await handler(request) } catch {
          return .plain(.internalServerError, "the handler threw: \(error)\n")
        }
      }
      return promise.futureResult
    case .handler, nil:
      return eventLoop.makeSucceededFuture(.plain(.notFound, "nothing is served at \(request.path)\n"))
    }
  }

  private func whenReleased(_ exchange: Exchange, _ context: ChannelHandlerContext, go: @escaping () -> Void) {
    guard context.channel.isActive else { return }
    let path = exchange.request.path
    let released = context.eventLoop.makePromise(of: Void.self)
    gate = monitor.whenTrue {
      !$0.isHeld(path)
    } wake: {
      released.completeWith($0)
    }
    released.futureResult.assumeIsolated().whenSuccess { [self] in
      gate = nil
      go()
    }
  }

  private func send(_ response: OriginResponse, for exchange: Exchange, _ context: ChannelHandlerContext) {
    guard context.channel.isActive else { return }
    let baseline = monitor.read(\.baseline)
    var draft = ReplyDraft(response, to: exchange.request)
    if baseline.latency > .zero { draft.lead.append(.pause(baseline.latency)) }
    exchange.fault.apply(to: &draft)
    draft.bytesPerSecond = [draft.bytesPerSecond, baseline.bytesPerSecond].compactMap(\.self).min()
    cursor = WireCursor(WirePlan(draft, isPersistent: exchange.isPersistent, isHTTP10: exchange.isHTTP10))
    pump(context)
  }

  // MARK: From the plan to the wire

  private func pump(_ context: ChannelHandlerContext) {
    guard !isPumping else { return }
    isPumping = true
    defer { isPumping = false }
    while let action = cursor?.next(at: .now, isWritable: context.channel.isWritable) {
      switch action {
      case .write(let piece): write(piece, context)
      case .wait(let end): return wake(at: end, context)
      case .waitUntilWritable: return
      case .end(let ending): end(ending, context)
      }
    }
  }

  private func wake(at end: ContinuousClock.Instant, _ context: ChannelHandlerContext) {
    timer?.cancel()
    let pause = TimeAmount(ContinuousClock.now.duration(to: end))
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: pause) { [self] in pump(context) }
  }

  private func write(_ piece: WirePiece, _ context: ChannelHandlerContext) {
    // The records are updated before the write, so that a client that has the bytes finds them counted.
    let completes = piece.isLast && cursor?.isWhole == true
    if let exchange, !piece.body.isEmpty {
      monitor.change { $0.ledger.sent(piece.body.count, to: exchange.request) }
    }
    if piece.isLast, cursor?.ending != .stall { settle(isComplete: completes) }

    var buffer = context.channel.allocator.buffer(
      capacity: piece.prefix.count + piece.body.count + piece.suffix.count)
    buffer.writeBytes(piece.prefix)
    buffer.writeBytes(piece.body)
    buffer.writeBytes(piece.suffix)
    let written = context.eventLoop.makePromise(of: Void.self)
    lastWrite = written.futureResult
    if completes, let exchange {
      written.futureResult.whenFailure { [monitor] _ in monitor.change { $0.ledger.lostEnd(of: exchange.request) } }
    }
    context.writeAndFlush(wrapOutboundOut(buffer), promise: written)
  }

  /// Removes the exchange from those under way, once.
  private func settle(isComplete: Bool) {
    guard let exchange, !isSettled else { return }
    isSettled = true
    monitor.change { $0.ledger.ended(exchange.request, isComplete: isComplete) }
  }

  private func end(_ ending: WireEnding, _ context: ChannelHandlerContext) {
    cursor = nil
    switch ending {
    case .keepAlive:
      exchange = nil
      answerNext(context)
    case .close:
      settle(isComplete: false)
      close(context)
    case .reset:
      settle(isComplete: false)
      whenWritten { context.channel.resetWhenDelivered() }
    case .stall:
      break
    }
  }

  private func close(_ context: ChannelHandlerContext) {
    whenWritten { context.close(promise: nil) }
  }

  private func whenWritten(_ go: @escaping () -> Void) {
    guard let lastWrite else { return go() }
    lastWrite.assumeIsolated().whenComplete { _ in go() }
  }
}
