import CNghttp2
import CoreMetrics
import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Speaks HTTP/2 on a connection: frames, HPACK, flow control and the states of streams are libnghttp2's; what a client
/// may make the server do is bounded here.
///
/// A request whose response is recorded is answered at once. Each of the others gets a ``HTTP2StreamChannel``.
///
/// The connection ends when it has had no request for a while, or when the server ends: the client is told that no
/// further requests are answered, and those that are under way are waited for. RFC 9113 §6.8.
final class HTTP2Handler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Sets up the channel of a request.
  typealias SetUp = (HTTP2StreamChannel) throws -> Void

  /// The limits that a client is told, and those of what it may send.
  enum Limits {
    /// The requests that may be under way.
    static let streams = 100
    /// The bytes of a request's target and of what else its fields take beside their names and values.
    static let target = 32 << 10
    /// The bytes of a frame that HTTP/2 begins with. RFC 9113 §6.5.2.
    static let frame = 16_384
    /// The bytes of a response's head that can be sent.
    static let head = 512 << 10
    /// The frames that may wait for a client that does not read and resets its streams.
    static let queue = 1_000
    /// The streams that were reset, and on which frames may still come.
    static let abandoned = 128
    /// The bytes that are put together before they are written.
    static let written = 64 << 10
    /// The streams that a client may reset in ``period``, and the frames that ask for an acknowledgement.
    /// CVE-2023-44487, CVE-2019-9512, CVE-2019-9515.
    static let events = 200
    static let period = Duration.seconds(30)
    /// The frames that change priorities that may come before a client's next request. Clients of RFC 7540 send a few for
    /// each request that is under way. RFC 9113 §5.3.2, CVE-2019-9513.
    static let priorities = 1_000
    /// The streams of a connection that may be reset for what the client has sent. CVE-2025-8671.
    static let errors = 200
    /// The frames without content that may follow each other. CVE-2019-9518.
    static let empty = 1
    /// The time for the acknowledgement of the end.
    static let patience = TimeAmount.seconds(5)
    /// The time that a client has to end a request whose rest is not read.
    static let linger = TimeAmount.seconds(2)
  }

  private enum Ending {
    case none
    /// The client was told; requests that it sent before it knew are answered until it acknowledges the ping.
    case announced
    /// No further requests are answered.
    case final
  }

  private struct Stream {
    let output: StreamOutput
    /// `nil` if the response was recorded.
    let channel: HTTP2StreamChannel?
  }

  /// The data of the ping that follows the announcement of the end.
  private static let ping: [UInt8] = Array("pagekit".utf8) + [0]

  private let connection: ConnectionHandler
  /// The limit of the fields of a request, with the target, which has a limit of its own.
  private let listLimit: Int
  private let metrics: HostMetrics
  /// The fields of this server's own responses.
  private let ownFields: HTTPFields
  private let idle: TimeAmount
  private let setUp: SetUp
  /// Freed with the handler, so that it is there while one of its callbacks runs.
  private let session: OpaquePointer
  /// `nil` once the handler has left its pipeline.
  private var context: ChannelHandlerContext?
  private var streams: [Int32: Stream] = [:]
  /// The head or the trailers that are arriving. RFC 9113 §4.3: those of two streams never mix.
  private var fields = HTTP2Fields()
  private var fieldsSize = 0
  private var isGet = false
  /// `true` while libnghttp2 must not be called for sending.
  private var isBusy = false
  private var isSendPlanned = false
  private var isClosed = false
  /// The channels whose bytes were taken, and that were not told.
  private var drained: [HTTP2StreamChannel] = []
  private var ending = Ending.none
  private var timer: Scheduled<Void>?
  /// When the last request ended, or the client last took bytes of a recorded response.
  private var idleSince = NIODeadline.now()
  /// The error code for a client that must not go on.
  private var fault = NGHTTP2_ENHANCE_YOUR_CALM
  /// The last stream that the client has opened, and those that were reset here.
  private var lastOpened: Int32 = 0
  private var abandoned = CircularBuffer<Int32>()
  private var resets = EventRate(limit: Limits.events, period: Limits.period)
  private var controls = EventRate(limit: Limits.events, period: Limits.period)
  private var errors = 0
  private var emptyFrames = 0
  /// The frames that have changed priorities since the last request.
  private var priorities = 0

  var common: ConnectionContext { connection.common }
  private var now: NIODeadline { context?.eventLoop.now ?? .now() }
  private var uptime: Duration { .nanoseconds(now.uptimeNanoseconds) }
  /// The time without progress after which a client counts as stopped.
  var patience: TimeAmount { max(idle, .seconds(10)) }

  /// - Parameters:
  ///   - headerLimit: the bytes of the fields of a request.
  ///   - ownFields: the fields of this server's own responses.
  ///   - idle: the time after which a connection without requests is closed.
  ///   - setUp: sets up the channel of a request that no recorded response answers.
  /// - Throws: ``HTTP2StreamError`` if libnghttp2 has no memory.
  init(
    _ connection: ConnectionHandler, headerLimit: Int, metrics: HostMetrics, ownFields: HTTPFields = [:],
    idle: TimeAmount, setUp: @escaping SetUp
  ) throws {
    (self.connection, self.metrics, self.ownFields) = (connection, metrics, ownFields)
    listLimit = headerLimit + Limits.target
    (self.idle, self.setUp) = (idle, setUp)
    guard let session = Self.makeSession() else { throw HTTP2StreamError(code: NGHTTP2_INTERNAL_ERROR.rawValue) }
    self.session = session
    nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
  }

  deinit { nghttp2_session_del(session) }

  // MARK: The connection

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    let settings = [
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: UInt32(Limits.streams)),
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: UInt32(clamping: listLimit)),
    ]
    nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
    planSend()
    idleSince = now
    awaitRequest(for: idle)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    end()
    self.context = nil
  }

  func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isClosed else { return }
    isBusy = true
    let result = unwrapInboundIn(data).withUnsafeReadableBytes { bytes in
      nghttp2_session_mem_recv(session, bytes.assumingMemoryBound(to: UInt8.self).baseAddress, bytes.count)
    }
    isBusy = false
    guard result < 0 else { return }
    if [NGHTTP2_ERR_FLOODED.rawValue, NGHTTP2_ERR_CALLBACK_FAILURE.rawValue].contains(Int32(result)) {
      nghttp2_session_terminate_session(session, fault.rawValue)
      send()
    }
    close()
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    send()
    context.fireChannelReadComplete()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { send() }
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case is ChannelShouldQuiesceEvent: announceEnd()
    case ChannelEvent.inputClosed: close()
    default: break
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { close() }

  private func close() {
    guard !isClosed else { return }
    context?.close(promise: nil)
  }

  /// The connection has ended.
  private func end() {
    guard !isClosed else { return }
    isClosed = true
    timer?.cancel()
    let open = streams.values.compactMap(\.channel)
    for stream in streams.values { stream.output.reset?.cancel() }
    streams = [:]
    for channel in open { channel.close(HTTP2StreamError(code: NGHTTP2_CANCEL.rawValue)) }
  }

  // MARK: Sending

  /// Sends a moment later, together with what others want to send until then.
  private func planSend() {
    guard !isSendPlanned, let loop = context?.eventLoop else { return }
    isSendPlanned = true
    let bound = NIOLoopBound(self, eventLoop: loop)
    loop.execute {
      bound.value.isSendPlanned = false
      bound.value.send()
    }
  }

  /// Writes what libnghttp2 has to send, as long as the client takes it.
  private func send() {
    guard !isBusy, !isClosed, let context else { return }
    while !isClosed, context.channel.isWritable {
      isBusy = true
      let bytes = frames(context.channel.allocator)
      isBusy = false
      guard let bytes else { return close() }
      if errors > Limits.errors {
        errors = 0
        nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM.rawValue)
        planSend()
      }
      if bytes.readableBytes > 0 { context.writeAndFlush(wrapOutboundOut(bytes), promise: nil) }
      tellDrained()
      guard bytes.readableBytes >= Limits.written else { break }
    }
    if !isClosed, nghttp2_session_want_read(session) == 0, nghttp2_session_want_write(session) == 0 { close() }
  }

  /// - Returns: about as many bytes as are written at once; `nil` if the session is broken.
  private func frames(_ allocator: ByteBufferAllocator) -> ByteBuffer? {
    var bytes = allocator.buffer(capacity: 0)
    while !isClosed, bytes.readableBytes < Limits.written {
      var start: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(session, &start)
      guard count >= 0 else { return nil }
      guard count > 0, let start else { break }
      bytes.writeBytes(UnsafeRawBufferPointer(start: start, count: count))
    }
    return bytes
  }

  private func tellDrained() {
    guard !drained.isEmpty else { return }
    let told = drained
    drained = []
    for channel in told { channel.outputWasTaken() }
  }

  /// Sends the head of a response, and everything that its output has.
  func send(_ head: HTTPResponse, on channel: HTTP2StreamChannel) {
    let output = channel.output
    let hasBody = !output.isEnded || output.size > 0 || output.trailers != nil
    if !submit(HTTP2Fields(head), [], hasBody ? output : nil, on: channel.id) {
      resetStream(channel.id, NGHTTP2_INTERNAL_ERROR)
    }
    planSend()
  }

  func send(interim head: HTTPResponse, on channel: HTTP2StreamChannel) {
    _ = HTTP2Fields(head).withPairs {
      nghttp2_submit_headers(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), channel.id, nil, $0.baseAddress, $0.count, nil)
    }
    planSend()
  }

  /// More of a response can be sent.
  func goOn(with channel: HTTP2StreamChannel) {
    guard channel.output.isAwaited, streams[channel.id] != nil else { return }
    channel.output.isAwaited = false
    nghttp2_session_resume_data(session, channel.id)
    planSend()
  }

  /// - Parameter isAnswered: `true` if the response was sent as a whole.
  func reset(_ channel: HTTP2StreamChannel, isAnswered: Bool) {
    guard !isClosed, streams[channel.id] != nil else { return }
    resetStream(channel.id, isAnswered ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL)
    planSend()
  }

  private func resetStream(_ id: Int32, _ code: nghttp2_error_code) {
    wasReset(id)
    nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, code.rawValue)
  }

  /// The bytes of a body were read: the client may send as many again.
  func wasRead(_ count: Int, of channel: HTTP2StreamChannel) {
    guard !isClosed, streams[channel.id] != nil, !channel.output.refusesRest else { return }
    nghttp2_session_consume_stream(session, channel.id, count)
    planSend()
  }

  private func submit(
    _ head: HTTP2Fields, _ changed: [(index: Int, value: String)], _ output: StreamOutput?, on id: Int32
  ) -> Bool {
    head.withPairs(changed: changed) { pairs in
      guard let output else {
        return nghttp2_submit_response(session, id, pairs.baseAddress, pairs.count, nil) == 0
      }
      var provider = nghttp2_data_provider()
      // The stream keeps its output until it is closed.
      provider.source.ptr = Unmanaged.passUnretained(output).toOpaque()
      provider.read_callback = { session, id, bytes, count, flags, source, handler in
        guard let session, let bytes, let flags, let output = source?.pointee.ptr else {
          return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
        }
        return HTTP2Handler.with(handler) {
          $0.take(
            Unmanaged<StreamOutput>.fromOpaque(output).takeUnretainedValue(), of: id,
            into: UnsafeMutableRawBufferPointer(start: bytes, count: count), flags, session)
        } ?? Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
      }
      return nghttp2_submit_response(session, id, pairs.baseAddress, pairs.count, &provider) == 0
    }
  }

  private func take(
    _ output: StreamOutput, of id: Int32, into bytes: UnsafeMutableRawBufferPointer,
    _ flags: UnsafeMutablePointer<UInt32>, _ session: OpaquePointer
  ) -> Int {
    guard !output.isDiscarded, !isClosed else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
    let count = output.take(into: bytes)
    if let channel = streams[id]?.channel {
      if count > 0 { drained.append(channel) }
    } else {
      idleSince = now
    }
    if output.isEnded, output.size == 0 {
      flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
      if let trailers = output.trailers {
        flags.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
        let result = trailers.withPairs { nghttp2_submit_trailer(session, id, $0.baseAddress, $0.count) }
        guard result == 0 else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
      }
      return count
    }
    guard count == 0 else { return count }
    output.isAwaited = true
    return Int(NGHTTP2_ERR_DEFERRED.rawValue)
  }

  // MARK: Requests

  fileprivate func fieldsBegin() {
    fields.removeAll()
    (fieldsSize, isGet) = (0, false)
  }

  fileprivate func fieldCame(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    // RFC 9113 §6.5.2.
    fieldsSize += name.count + value.count + 32
    // The rest is decoded, since the table of later heads depends on it, but not kept.
    guard fieldsSize <= listLimit else { return }
    // Of the pseudo-fields, which libnghttp2 checks, this is `:method`.
    if name.count == 7, name[0] == UInt8(ascii: ":"), name[1] == UInt8(ascii: "m") {
      isGet = value.elementsEqual("GET".utf8) || value.elementsEqual("HEAD".utf8)
    }
    fields.add(name: name, value: value)
  }

  fileprivate func fieldsCame(on id: Int32, isRequest: Bool, isEnd: Bool) {
    emptyFrames = 0
    guard !isClosed else { return }
    guard isRequest else {
      guard fieldsSize <= listLimit else { return resetStream(id, NGHTTP2_ENHANCE_YOUR_CALM) }
      streams[id]?.channel?.receive(.end(isEnd ? fields.trailers : nil))
      return
    }
    connection.headArrived()
    priorities = 0
    guard fieldsSize <= listLimit else { return refuse(id) }
    let mayReplay = isEnd && isGet && fields.bytes.readableBytes <= RecordedResponses.headLimit
    if mayReplay, replay(on: id) { return }
    open(id, isWhole: isEnd, isRecorded: mayReplay)
  }

  /// Answers with the recorded response.
  ///
  /// - Returns: `false` if there is none.
  private func replay(on id: Int32) -> Bool {
    let arrival = ContinuousClock.now
    guard let known = common.memory.answer(to: fields.bytes) else { return false }
    let renewed = common.renewed(age: known.age)
    guard let (head, changed, body) = known.answer.fields(renewed) else { return false }
    let output = StreamOutput(body)
    streams[id] = Stream(output: output, channel: nil)
    guard submit(head, changed, body.readableBytes > 0 ? output : nil, on: id) else {
      resetStream(id, NGHTTP2_INTERNAL_ERROR)
      return true
    }
    // The counters are updated before the client can ask for them.
    known.answer.reportReplay(renewed.requestID, to: common.address, since: arrival)
    return true
  }

  private func open(_ id: Int32, isWhole: Bool, isRecorded: Bool) {
    guard let request = fields.request, let parent = context?.channel else {
      return resetStream(id, NGHTTP2_PROTOCOL_ERROR)
    }
    let channel = HTTP2StreamChannel(id, on: self, of: parent)
    streams[id] = Stream(output: channel.output, channel: channel)
    if isRecorded {
      // A copy of these bytes alone: the buffer is used for the next head.
      let context = ReplayContext()
      channel.recording = (ResponseRecording(of: ByteBuffer(bytes: fields.bytes.readableBytesView)), context)
      common.change(channel) { $0.replay = context }
    }
    do { try setUp(channel) } catch { return channel.close(mode: .all, promise: nil) }
    channel.activate()
    channel.receive(.head(request))
    if isWhole { channel.receive(.end(nil)) }
  }

  /// RFC 6585 §5.
  private func refuse(_ id: Int32) {
    metrics.refusals("header").increment()
    let body = ByteBuffer(bytes: JSONValue.error("the header fields are too long").text)
    let output = StreamOutput(body)
    output.refusesRest = true
    streams[id] = Stream(output: output, channel: nil)
    var fields: HTTPFields = [.contentType: "application/json", .contentLength: "\(body.readableBytes)"]
    fields.addOwn(ownFields)
    let head = HTTPResponse(status: .requestHeaderFieldsTooLarge, headerFields: fields)
    if !submit(HTTP2Fields(head), [], output, on: id) { resetStream(id, NGHTTP2_INTERNAL_ERROR) }
  }

  fileprivate func bodyCame(_ bytes: UnsafeRawBufferPointer, on id: Int32) {
    // The window of the connection is open while one stream's is full, so that the others go on.
    nghttp2_session_consume_connection(session, bytes.count)
    guard let stream = streams[id] else {
      nghttp2_session_consume_stream(session, id, bytes.count)
      return
    }
    // Without more of its window, the client soon stops to send.
    if !stream.output.refusesRest { stream.channel?.receive(.body(ByteBuffer(bytes: bytes))) }
  }

  /// Finds faults that libnghttp2 lets pass.
  ///
  /// - Returns: `false` for one of the connection.
  fileprivate func frameBegins(_ head: nghttp2_frame_hd) -> Bool {
    // RFC 9113 §4.2.
    guard head.length <= Limits.frame else {
      fault = NGHTTP2_FRAME_SIZE_ERROR
      return false
    }
    guard UInt32(head.type) == NGHTTP2_HEADERS.rawValue else { return true }
    if head.stream_id > lastOpened {
      lastOpened = head.stream_id
    } else if streams[head.stream_id] == nil, !abandoned.contains(head.stream_id), ending != .final {
      // RFC 9113 §5.1.1.
      fault = NGHTTP2_PROTOCOL_ERROR
      return false
    }
    return true
  }

  fileprivate func wasReset(_ id: Int32) {
    guard !abandoned.contains(id) else { return }
    if abandoned.count == Limits.abandoned { abandoned.removeFirst() }
    abandoned.append(id)
  }

  /// - Returns: `false` if the client sends too much that asks for nothing.
  fileprivate func frameCame(_ frame: nghttp2_frame) -> Bool {
    let isEnd = frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
    switch UInt32(frame.hd.type) {
    case NGHTTP2_HEADERS.rawValue:
      fieldsCame(on: frame.hd.stream_id, isRequest: frame.headers.cat == NGHTTP2_HCAT_REQUEST, isEnd: isEnd)
    case NGHTTP2_DATA.rawValue:
      if isEnd {
        emptyFrames = 0
        streams[frame.hd.stream_id]?.channel?.receive(.end(nil))
      } else if frame.hd.length == frame.data.padlen {
        emptyFrames += 1
        return emptyFrames <= Limits.empty
      } else {
        emptyFrames = 0
      }
    case NGHTTP2_RST_STREAM.rawValue:
      // The heads of responses to requests that were reset wait until the client reads.
      return resets.verdict(at: uptime) == .permitted
        && nghttp2_session_get_outbound_queue_size(session) <= Limits.queue
    case NGHTTP2_PING.rawValue:
      if frame.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 {
        let data = withUnsafeBytes(of: frame.ping.opaque_data) { Array($0) }
        if data == Self.ping { refuseRequests() }
      }
      return controls.verdict(at: uptime) == .permitted
    case NGHTTP2_SETTINGS.rawValue: return controls.verdict(at: uptime) == .permitted
    case NGHTTP2_PRIORITY.rawValue:
      priorities += 1
      return priorities <= Limits.priorities
    default: break
    }
    return true
  }

  fileprivate func frameIsSent(_ frame: nghttp2_frame) {
    let id = frame.hd.stream_id
    switch UInt32(frame.hd.type) {
    case NGHTTP2_RST_STREAM.rawValue: resetIsSent(id, frame.rst_stream.error_code)
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
      guard frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0, let output = streams[id]?.output,
        output.refusesRest, nghttp2_session_get_stream_remote_close(session, id) == 0
      else { return }
      linger(id, output)
    default: break
    }
  }

  /// Resets a stream that has its whole response, without an error, unless its client ends the request. RFC 9113 §8.1.
  ///
  /// libcurl 7.88 throws a response away that is followed by a reset while it sends; it reads the response and stops if it
  /// has the time.
  private func linger(_ id: Int32, _ output: StreamOutput) {
    guard let loop = context?.eventLoop else { return }
    let bound = NIOLoopBound(self, eventLoop: loop)
    output.reset = loop.scheduleTask(in: Limits.linger) {
      bound.value.resetStream(id, NGHTTP2_NO_ERROR)
      bound.value.planSend()
    }
  }

  /// A stream is reset.
  private func resetIsSent(_ id: Int32, _ code: UInt32) {
    wasReset(id)
    switch code {
    // Not for what the client has sent.
    case NGHTTP2_NO_ERROR.rawValue, NGHTTP2_CANCEL.rawValue, NGHTTP2_INTERNAL_ERROR.rawValue: break
    default: errors += 1
    }
  }

  /// A head or trailers cannot be sent: libnghttp2 limits them.
  fileprivate func couldNotSend(on id: Int32) {
    if streams[id] != nil { resetStream(id, NGHTTP2_INTERNAL_ERROR) }
  }

  fileprivate func streamEnded(_ id: Int32, _ code: UInt32) {
    guard let stream = streams.removeValue(forKey: id) else { return }
    stream.output.reset?.cancel()
    if let channel = stream.channel {
      let isWhole = code == NGHTTP2_NO_ERROR.rawValue && channel.isInputEnded
      channel.close(isWhole ? nil : HTTP2StreamError(code: code))
    }
    if streams.isEmpty { idleSince = now }
  }

  // MARK: The end

  /// Fires when the connection may have been idle for long: a new timer for every request would cost more.
  private func awaitRequest(for time: TimeAmount) {
    schedule(after: time) { handler in
      // Channels have times of their own. Without one, a stream waits for a client that takes nothing.
      guard handler.streams.values.allSatisfy({ $0.channel == nil }) else {
        return handler.awaitRequest(for: handler.idle)
      }
      let left = handler.idleSince + handler.idle - handler.now
      guard left <= .zero else { return handler.awaitRequest(for: left) }
      if handler.ending == .none { handler.announceEnd() } else { handler.close() }
    }
  }

  /// Tells the client that the connection ends, and ends it when its requests were answered.
  func announceEnd() {
    guard case .none = ending, !isClosed else { return }
    ending = .announced
    nghttp2_submit_shutdown_notice(session)
    // Else the ping would overtake it.
    send()
    nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), Self.ping)
    planSend()
    schedule(after: Limits.patience) { $0.refuseRequests() }
  }

  /// The client has acknowledged the end, or does not read.
  private func refuseRequests() {
    guard case .announced = ending else { return }
    ending = .final
    // When the last of them has ended, libnghttp2 wants to read and to write no more.
    nghttp2_submit_goaway(
      session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nghttp2_session_get_last_proc_stream_id(session),
      NGHTTP2_NO_ERROR.rawValue, nil, 0)
    planSend()
    if streams.isEmpty { schedule(after: Limits.patience) { $0.close() } } else { awaitRequest(for: idle) }
  }

  private func schedule(after time: TimeAmount, _ action: @escaping @Sendable (HTTP2Handler) -> Void) {
    timer?.cancel()
    guard let loop = context?.eventLoop else { return }
    let bound = NIOLoopBound(self, eventLoop: loop)
    timer = loop.scheduleTask(in: time) { action(bound.value) }
  }
}

extension HTTP2Handler {
  /// Makes a session whose callbacks are the functions above.
  private static func makeSession() -> OpaquePointer? {
    var callbacks: OpaquePointer?
    var option: OpaquePointer?
    guard nghttp2_session_callbacks_new(&callbacks) == 0, nghttp2_option_new(&option) == 0 else { return nil }
    defer {
      nghttp2_session_callbacks_del(callbacks)
      nghttp2_option_del(option)
    }
    nghttp2_option_set_no_auto_window_update(option, 1)
    nghttp2_option_set_max_send_header_block_length(option, Limits.head)
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { _, head, handler in
      guard let head else { return 0 }
      return HTTP2Handler.with(handler) { $0.frameBegins(head.pointee) } ?? false
        ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
    }
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, handler in
      guard let frame else { return 0 }
      HTTP2Handler.with(handler) { $0.frameIsSent(frame.pointee) }
      return 0
    }
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, _, handler in
      HTTP2Handler.with(handler) { $0.fieldsBegin() }
      return 0
    }
    nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      _, _, name, nameCount, value, valueCount, _, handler in
      HTTP2Handler.with(handler) {
        $0.fieldCame(
          UnsafeRawBufferPointer(start: name, count: nameCount),
          UnsafeRawBufferPointer(start: value, count: valueCount))
      }
      return 0
    }
    // RFC 9113 §8.2.1: else the field would only be left out.
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks) { _, _, _, _, _, _, _, _ in
      NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, id, bytes, count, handler in
      HTTP2Handler.with(handler) { $0.bodyCame(UnsafeRawBufferPointer(start: bytes, count: count), on: id) }
      return 0
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, handler in
      guard let frame else { return 0 }
      return HTTP2Handler.with(handler) { $0.frameCame(frame.pointee) } ?? false
        ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
    }
    // More frames of the stream may be there before the reset is sent.
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) { _, frame, _, handler in
      if let id = frame?.pointee.hd.stream_id { HTTP2Handler.with(handler) { $0.wasReset(id) } }
      return 0
    }
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks) { _, frame, _, handler in
      guard let head = frame?.pointee.hd, UInt32(head.type) == NGHTTP2_HEADERS.rawValue else { return 0 }
      HTTP2Handler.with(handler) { $0.couldNotSend(on: head.stream_id) }
      return 0
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, code, handler in
      HTTP2Handler.with(handler) { $0.streamEnded(id, code) }
      return 0
    }
    var session: OpaquePointer?
    guard nghttp2_session_server_new2(&session, callbacks, nil, option) == 0 else { return nil }
    return session
  }

  /// Calls a function of the handler of a session, which libnghttp2 gives back as it got it in ``init``.
  private static func with<Result>(_ pointer: UnsafeMutableRawPointer?, _ body: (HTTP2Handler) -> Result) -> Result? {
    pointer.map { Unmanaged<HTTP2Handler>.fromOpaque($0)._withUnsafeGuaranteedRef(body) }
  }
}
