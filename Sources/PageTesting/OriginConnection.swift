import HTTPTypes
import NIOCore
import NIOHTTP1

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

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
  private var pipeline: [OriginRequest] = []

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
    let head = ([.contentLength: "0", .connection: "close"] as HTTPFields).head(of: 400)
    write(prefix: head, isLast: true, context)
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
    write(prefix: HTTPFields().head(of: 100), isLast: false, context)
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
    cursor = WireCursor(draft)
    pump(context)
  }

  // MARK: From the plan to the wire

  private func pump(_ context: ChannelHandlerContext) {
    guard !isPumping else { return }
    isPumping = true
    defer { isPumping = false }
    while let action = cursor?.next(at: .now, isWritable: context.channel.isWritable) {
      switch action {
      case .write(let prefix, let body, let suffix, let isLast):
        write(prefix: prefix, body: body, suffix: suffix, isLast: isLast, context)
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

  private func write(
    prefix: [UInt8], body: ArraySlice<UInt8> = [], suffix: [UInt8] = [], isLast: Bool, _ context: ChannelHandlerContext
  ) {
    // The records are updated before the write, so that a client that has the bytes finds them counted.
    let completes = isLast && cursor?.isWhole == true
    if let exchange, !body.isEmpty {
      monitor.change { $0.ledger.sent(body.count, to: exchange.request) }
    }
    if isLast, cursor?.ending != .stall { settle(isComplete: completes) }

    var buffer = context.channel.allocator.buffer(capacity: prefix.count + body.count + suffix.count)
    buffer.writeBytes(prefix)
    buffer.writeBytes(body)
    buffer.writeBytes(suffix)
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

/// Assembles the parts of consecutive requests.
struct RequestAssembler {
  private let recordedBodyBytes: Int
  private var partial: OriginRequest?

  init(recordedBodyBytes: Int) {
    self.recordedBodyBytes = recordedBodyBytes
  }

  /// `true` if the client waits for `100 Continue` before it sends the body.
  private(set) var awaitsContinue = false

  /// Records that `100 Continue` was sent.
  mutating func answeredContinue() {
    awaitsContinue = false
  }

  /// The target of the latest request.
  private(set) var path: String?

  /// Adds a part, and returns the request when it is complete, or when its head suffices.
  ///
  /// - Parameter isHeadEnough: returns `true` if requests for a target are answered before their bodies arrive.
  mutating func add(
    _ part: HTTPServerRequestPart, at now: ContinuousClock.Instant, isHeadEnough: (String) -> Bool
  ) -> OriginRequest? {
    switch part {
    case .head(let head):
      path = head.uri
      guard !isHeadEnough(head.uri) else { return OriginRequest(head, began: now) }
      partial = OriginRequest(head, began: now)
      awaitsContinue = head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
      return nil
    case .body(let bytes):
      awaitsContinue = false
      partial?.bodySize += bytes.readableBytes
      let room = recordedBodyBytes - (partial?.body.count ?? 0)
      if room > 0 { partial?.body.append(contentsOf: bytes.readableBytesView.prefix(room)) }
      return nil
    case .end(let trailers):
      awaitsContinue = false
      if let trailers { partial?.trailers = HTTPFields(trailers) }
      defer { partial = nil }
      return partial
    }
  }
}

extension OriginRequest {
  /// The beginning of a request, which has no number yet.
  fileprivate init(_ head: HTTPRequestHead, began: ContinuousClock.Instant) {
    // The decoder reads nothing after a request for another protocol.
    let isPersistent = head.isKeepAlive && !head.headers.contains(name: "upgrade") && head.method != .CONNECT
    self.init(
      method: HTTPRequest.Method(rawValue: head.method.rawValue) ?? .get, path: head.uri,
      headers: HTTPFields(head.headers), began: began, isPersistent: isPersistent, isHTTP10: head.version == .http1_0)
  }
}

extension HTTPFields {
  /// The fields in their order; fields with invalid names are left out.
  init(_ headers: HTTPHeaders) {
    self.init()
    for (name, value) in headers {
      guard let name = HTTPField.Name(name) else { continue }
      append(HTTPField(name: name, value: value))
    }
  }
}

extension Channel {
  /// Closes with RST after the client has received all written bytes, so that it gets exactly those bytes.
  ///
  /// A client that does not read gets the RST after a second, and may lose bytes.
  func resetWhenDelivered(attempts: Int = 500) {
    undeliveredCount.whenComplete { [self] count in
      guard case .success(1...) = count, attempts > 0 else { return reset() }
      eventLoop.scheduleTask(in: .milliseconds(2)) { [self] in resetWhenDelivered(attempts: attempts - 1) }
    }
  }

  private func reset() {
    // Closing with a linger time of zero discards unsent bytes and sends RST.
    let lingering = (self as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
    (lingering ?? eventLoop.makeSucceededVoidFuture()).whenComplete { [self] _ in close(promise: nil) }
  }

  #if os(Linux)
    /// The number of unacknowledged segments and unsent bytes; zero when all bytes have arrived.
    private var undeliveredCount: EventLoopFuture<UInt64> {
      guard let socket = self as? any SocketOptionProvider else { return eventLoop.makeSucceededFuture(0) }
      // Linux's `struct tcp_info` begins with 8 single bytes and 24 words, and has `tcpi_notsent_bytes` at
      // byte 144; glibc's declaration of it ends before that.
      let info: EventLoopFuture<InlineArray<38, UInt32>> = socket.unsafeGetSocketOption(level: .tcp, name: .tcp_info)
      return info.map { words in UInt64(words[6]) + UInt64(words[36]) }
    }
  #else
    private var undeliveredCount: EventLoopFuture<UInt64> { eventLoop.makeSucceededFuture(0) }
  #endif
}
