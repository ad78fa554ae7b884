import CoreMetrics
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTPTypes
import Synchronization

/// Answers requests on the event loops of their connections, with everything that the middleware of a listener does for
/// its requests: the id, the limits, the metrics and the line in the log.
package final class PromptAnswers: Sendable {
  /// A request that is to be answered on its event loop.
  package struct Asked: Sendable {
    package let head: HTTPRequest
    package let version: RequestVersion
    /// The address of the client; `nil` if it is unknown.
    package let client: String?
    /// Takes the offer to replay the answer.
    package let replay: ReplayContext?
    package let disconnection: ClientDisconnection
    /// `nil` if no line is logged for an answer without an error.
    package let note: AccessLogNote?
    /// Leads to the client.
    package let line: Line
    fileprivate let number: UInt64

    /// Answers the request later. To be called once, on the event loop, if it was begun as ``Beginning/asked(cancel:)``.
    ///
    /// - Parameter later: is called now, unless the client has gone; what it counts reaches the client.
    package func receive(_ later: () -> Later) { line.receive(number, later) }
  }

  /// Leads to the client of a request: to its connection, or a stream of that.
  package struct Line: Sendable {
    /// Calls a function on the event loop.
    package let loop: EventLoopCall
    /// Sends an interim head, from any thread.
    package let interim: @Sendable (HTTPResponse) -> Void
    /// Takes the answer to a request by its number, on the event loop.
    let receive: @Sendable (UInt64, () -> Later) -> Void
  }

  /// The outcome of the attempt to answer a request at once.
  package enum Beginning {
    case answer(Answer)
    /// Something was asked that answers later; the function ends that until there is an answer.
    case asked(cancel: @Sendable () -> Void)
  }

  /// The next step of a request that was begun.
  package enum Later: Sendable {
    case answer(Answer)
    /// The connection's task goes on with it, and finds this in the request's context.
    case longWay(any AnyObject & Sendable)
  }

  /// An answer whose body may still be on its way.
  package struct Answer: Sendable {
    fileprivate(set) var head: HTTPResponse
    /// The length of the body in bytes; `nil` if it is not known.
    let length: Int?
    /// The whole body; `nil` if it has none, or has not come.
    let bytes: ByteBuffer?
    /// Reads the body, if it has not come.
    let rest: (any CallbackReading)?

    package init(head: HTTPResponse, length: Int?, bytes: ByteBuffer?, rest: (any CallbackReading)?) {
      (self.head, self.length, self.bytes, self.rest) = (head, length, bytes, rest)
    }
  }

  /// A request that was begun.
  struct Begun {
    let asked: Asked
    let started: ContinuousClock.Instant
    let address: String?
    let cancel: @Sendable () -> Void

    var number: UInt64 { asked.number }
  }

  /// Counts and logs an answer at its end, given the bytes of its body.
  typealias End = (_ bytes: Int, _ isAborted: Bool) -> Void

  /// The next act on the event loop.
  enum Step {
    case answer(Answer)
    case begun(Begun)
  }

  private let common: HostMiddleware
  private let logger: Logger
  private let make: @Sendable (Asked) -> Beginning?
  private let made = Atomic<Int>(0)
  private let passed = Atomic<Int>(0)

  /// The number of answers that were made at once.
  package var count: Int { made.load(ordering: .relaxed) }
  /// The number of answers that came later, and were sent without a task.
  package var laterCount: Int { passed.load(ordering: .relaxed) }

  /// - Parameters:
  ///   - common: the middleware of the listener.
  ///   - make: returns `nil` if a task has to answer, and for errors of servers, which are logged in another way; is
  ///     called on event loops.
  package init(
    _ common: HostMiddleware, logger: Logger, make: @escaping @Sendable (Asked) -> Beginning?
  ) {
    self.common = common
    self.logger = logger
    self.make = make
  }

  /// Returns `true` if a request is one of those that are worth a try: without a body, and not the last one of its
  /// connection.
  static func mayAnswer(_ head: HTTPRequest) -> Bool {
    guard head.method == .get || head.method == .head else { return false }
    return head.headerFields.allSatisfy { field in
      switch field.name {
      case .connection: field.value.lowercased() == "keep-alive"
      case .contentLength, .transferEncoding, .upgrade, .expect: false
      default: true
      }
    }
  }

  /// Answers a request, or begins its answer.
  ///
  /// - Parameters:
  ///   - number: the number by which the answer comes to the line.
  ///   - address: the address of the client.
  /// - Returns: `nil` if the connection's task has to answer; nothing was done then.
  func step(
    for head: HTTPRequest, _ version: RequestVersion, number: UInt64, since started: ContinuousClock.Instant,
    address: String?, replay: ReplayContext?, disconnection: ClientDisconnection, line: Line
  ) -> Step? {
    guard HostMiddleware.refusal(head, common.limits) == nil,
      version != .http2 || HostMiddleware.fault(in: head) == nil
    else { return nil }
    let note = LogLevels.shared.accessLevel(logger) <= .info ? AccessLogNote() : nil
    let asked = Asked(
      head: head, version: version, client: address, replay: replay, disconnection: disconnection, note: note,
      line: line,
      number: number)
    switch make(asked) {
    case nil: return nil
    case .asked(let cancel):
      common.metrics.inFlight.increment()
      return .begun(Begun(asked: asked, started: started, address: address, cancel: cancel))
    case .answer(var answer):
      made.add(1, ordering: .relaxed)
      let id = id(of: asked)
      answer.head.headerFields[.requestID] = id
      let (line, measure) = records(of: asked, answer.head)
      line?.write(
        answer.bytes?.readableBytes ?? 0, isAborted: false, since: started, address: address ?? "-", id: id)
      measure(started)
      if let replay, replay.hasOffer {
        line?.repeats(with: replay)
        replay.onReplay { measure($0.started) }
      }
      return .answer(answer)
    }
  }

  /// A request that was begun has an answer.
  ///
  /// - Returns: the head that is sent, and what is called at the end; `nil` if the answer was counted and logged now,
  ///   since its length is known.
  func opened(_ answer: Answer, to begun: Begun) -> (head: HTTPResponse, end: End?) {
    passed.add(1, ordering: .relaxed)
    let (id, asked) = (id(of: begun.asked), begun.asked)
    var head = answer.head
    head.headerFields[.requestID] = id
    let (line, measure) = records(of: asked, head)
    let end: End = { [metrics = common.metrics] bytes, isAborted in
      metrics.inFlight.decrement()
      measure(begun.started)
      line?.write(bytes, isAborted: isAborted, since: begun.started, address: begun.address ?? "-", id: id)
    }
    guard let length = answer.length else { return (head, end) }
    end(length, false)
    return (head, nil)
  }

  /// A request that was begun is not answered here.
  func left(_ begun: Begun) { common.metrics.inFlight.decrement() }

  private func id(of asked: Asked) -> String {
    HostRequestContext.givenID(asked.head, asked.replay) ?? HostRequestContext.newID()
  }

  private func records(
    of asked: Asked, _ head: HTTPResponse
  ) -> (line: AccessLogLine?, measure: @Sendable (ContinuousClock.Instant) -> Void) {
    let line = asked.note.flatMap { note in
      common.log.line(for: asked.head, version: asked.version, status: head.status.code, note: note, logger)
    }
    return (line, common.requests.measure(method: asked.head.method, status: head.status.code))
  }
}

/// Answers requests of a connection of HTTP/1, or of a stream of HTTP/2, on its event loop, if ``PromptAnswers`` can do so
/// without a task. Every other request goes on to the task of the connection or of the stream, and so do all that come
/// before its response has ended.
///
/// While an answer is on its way here, what has come behind its request is held, and when something has, no more is read:
/// a client that waits for its answer, as most do, need not be told to stop and to go on, each with a system call.
final class PromptHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  /// The answer that is on its way.
  private struct Current {
    let begun: PromptAnswers.Begun
    /// Reads the body once the head was sent; `nil` before.
    var rest: (any CallbackReading)?
    /// `nil` if the answer is counted and logged already.
    var end: PromptAnswers.End?
    var count = 0
    /// `true` if bytes have to be written before more are read.
    var waitsForRoom = false
  }

  private let answers: PromptAnswers
  private let common: ConnectionContext
  private let version: RequestVersion
  /// Set while the handler is in its pipeline.
  private var line: PromptAnswers.Line?
  /// The head of a request without a body whose end has not come.
  private var pending: HTTPRequest?
  /// The requests that went on, and whose responses have not ended.
  private var underWay = 0
  private var isUnflushed = false
  private var current: Current?
  private var lastNumber: UInt64 = 0
  /// The parts that came while an answer was on its way: the rest of its read and one more of the connection, or all that
  /// the client has sent if it has closed its side.
  private var held = CircularBuffer<HTTPRequestPart>()
  private var heldError: (any Error)?
  private var holdsRead = false
  /// The one read that an answer on its way does not hold was asked for.
  private var readsAhead = false

  init(_ answers: PromptAnswers, on connection: ConnectionContext, _ version: RequestVersion) {
    (self.answers, common, self.version) = (answers, connection, version)
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let (loop, channel) = (context.eventLoop, context.channel)
    let bound = NIOLoopBound((self, context), eventLoop: loop)
    line = PromptAnswers.Line(
      loop: { function in loop.execute(function) },
      interim: { channel.writeAndFlush(HTTPResponsePart.head($0), promise: nil) },
      receive: { number, later in
        let (handler, context) = bound.value
        handler.receive(later, number, context)
      })
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    giveUp()
    line = nil
  }

  // MARK: Requests

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let part = unwrapInboundIn(data)
    if current == nil { receive(part, context) } else { hold(part) }
  }

  private func receive(_ part: HTTPRequestPart, _ context: ChannelHandlerContext) {
    switch part {
    case .head(let head):
      if underWay == 0, PromptAnswers.mayAnswer(head) {
        pending = head
        return
      }
      underWay += 1
    case .body: passOnHead(context)
    case .end(let trailers):
      if let head = pending, trailers == nil, answer(head, context) {
        pending = nil
        return
      }
      passOnHead(context)
    }
    context.fireChannelRead(wrapInboundOut(part))
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    flushAnswers(context)
    context.fireChannelReadComplete()
  }

  func read(context: ChannelHandlerContext) {
    guard current == nil || held.isEmpty && !readsAhead else {
      holdsRead = true
      return
    }
    readsAhead = current != nil
    context.read()
  }

  private func hold(_ part: HTTPRequestPart) {
    guard case .body(let bytes) = part, case .body(var body)? = held.last else { return held.append(part) }
    // A chunk may have one byte, and its part takes hundreds.
    held.removeLast()
    body.writeImmutableBuffer(bytes)
    held.append(.body(body))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // It is of a later request, whose answer follows this one.
    if current == nil { context.fireErrorCaught(error) } else { heldError = heldError ?? error }
  }

  private func passOnHead(_ context: ChannelHandlerContext) {
    guard let head = pending else { return }
    pending = nil
    underWay += 1
    context.fireChannelRead(wrapInboundOut(.head(head)))
  }

  private func answer(_ head: HTTPRequest, _ context: ChannelHandlerContext) -> Bool {
    guard context.channel.isWritable, let line else { return false }
    let channel = common.context(of: context.channel)
    lastNumber += 1
    guard !channel.hasLast,
      let step = answers.step(
        for: head, version, number: lastNumber, since: .now, address: common.address, replay: channel.replay,
        disconnection: channel.disconnection, line: line)
    else { return false }
    switch step {
    case .answer(let answer):
      write(answer.head, answer.bytes, context)
      isUnflushed = true
    case .begun(let begun): current = Current(begun: begun)
    }
    return true
  }

  // MARK: Answers

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .end = unwrapOutboundIn(data) { underWay -= 1 }
    context.write(data, promise: promise)
  }

  private func write(_ head: HTTPResponse, _ body: ByteBuffer?, _ context: ChannelHandlerContext) {
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    if let body { context.write(wrapOutboundOut(.body(body)), promise: nil) }
    context.write(wrapOutboundOut(.end(nil)), promise: nil)
  }

  private func receive(_ later: () -> PromptAnswers.Later, _ number: UInt64, _ context: ChannelHandlerContext) {
    // The client may have gone. The pipeline hears of that only later.
    guard let begun = current?.begun, begun.number == number else { return }
    guard context.channel.isActive else { return giveUp() }
    switch later() {
    case .longWay(let rest):
      answers.left(begun)
      current = nil
      common.change(context.channel) { $0.begun = (rest, begun.started) }
      underWay += 1
      context.fireChannelRead(wrapInboundOut(.head(begun.asked.head)))
      context.fireChannelRead(wrapInboundOut(.end(nil)))
      goOn(context)
    case .answer(let answer):
      let (head, end) = answers.opened(answer, to: begun)
      guard let rest = answer.rest else {
        current = nil
        write(head, answer.bytes, context)
        end?(answer.bytes?.readableBytes ?? 0, false)
        isUnflushed = true
        return goOn(context)
      }
      current?.rest = rest
      current?.end = end
      context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
      readOn(context)
    }
  }

  private func readOn(_ context: ChannelHandlerContext) {
    guard let current, let rest = current.rest, let line else { return }
    guard context.channel.isWritable else {
      self.current?.waitsForRoom = true
      return
    }
    self.current?.waitsForRoom = false
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    rest.next(on: line.loop) { [number = current.begun.number] chunk in
      let (handler, context) = bound.value
      handler.receive(chunk, of: number, context)
    }
  }

  private func receive(
    _ chunk: Result<[UInt8]?, any Error>, of number: UInt64, _ context: ChannelHandlerContext
  ) {
    guard let current, current.begun.number == number, let rest = current.rest else { return }
    guard context.channel.isActive else { return giveUp() }
    switch chunk {
    case .success(let bytes?):
      self.current?.count += bytes.count
      context.writeAndFlush(wrapOutboundOut(.body(ByteBuffer(bytes: bytes))), promise: nil)
      readOn(context)
    case .success(nil):
      let trailers = HopByHopFields.removed(from: rest.summary.trailers)
      self.current = nil
      current.end?(current.count, false)
      context.write(wrapOutboundOut(.end(trailers.isEmpty ? nil : trailers)), promise: nil)
      isUnflushed = true
      goOn(context)
    case .failure:
      // The client sees that bytes are missing.
      giveUp()
      context.close(promise: nil)
    }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if current?.waitsForRoom == true { readOn(context) }
    context.fireChannelWritabilityChanged()
  }

  /// Answers what was held meanwhile, and reads on.
  private func goOn(_ context: ChannelHandlerContext) {
    while current == nil, let part = held.popFirst() { receive(part, context) }
    flushAnswers(context)
    context.fireChannelReadComplete()
    guard current == nil else { return }
    readsAhead = false
    if let error = heldError {
      heldError = nil
      context.fireErrorCaught(error)
    }
    if holdsRead {
      holdsRead = false
      context.read()
    }
  }

  private func flushAnswers(_ context: ChannelHandlerContext) {
    guard isUnflushed else { return }
    isUnflushed = false
    context.flush()
  }

  // MARK: Clients that go

  func channelInactive(context: ChannelHandlerContext) {
    giveUp()
    context.fireChannelInactive()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // As for answers of tasks: whoever sends nothing more waits for no answer.
    if let event = event as? ChannelEvent, event == .inputClosed, current != nil {
      giveUp()
      context.close(promise: nil)
    }
    context.fireUserInboundEventTriggered(event)
  }

  /// Ends the answer that is on its way.
  private func giveUp() {
    (held, heldError, holdsRead) = ([], nil, false)
    guard let current else { return }
    self.current = nil
    current.begun.cancel()
    if let end = current.end {
      end(current.count, true)
    } else if current.rest == nil {
      answers.left(current.begun)
    }
  }
}
