import NIOCore
import NIOHPACK
import NIOHTTP2

/// Answers known requests of a connection of HTTP/2 with recorded responses, before they get streams of their own, and
/// records the responses to others.
final class StreamReplayHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTP2Frame
  typealias InboundOut = HTTP2Frame
  typealias OutboundIn = HTTP2Frame
  typealias OutboundOut = HTTP2Frame

  private struct Recording {
    let request: ByteBuffer
    let context = ReplayContext()
    var head: HPACKHeaders?
    var body: [ByteBuffer] = []
    var size = 0
  }

  /// A request that is complete, and whose response may be recorded.
  private struct Request {
    let stream: HTTP2StreamID
    let key: ByteBuffer
    let content: HTTP2Frame.FramePayload.Headers
    let arrival = ContinuousClock.now
  }

  /// The bytes after which responses are flushed: the connection is as full as its channel says only then.
  private static let unflushedLimit = 32 << 10

  private let connection: ConnectionHandler
  /// The responses that are being written.
  private var recordings: [HTTP2StreamID: Recording] = [:]
  /// The streams of requests that wait for a replay, or whose replayed response is still being sent.
  private var replayed: Set<HTTP2StreamID> = []
  /// The requests with recorded responses that wait until the client has read more: no more than a connection may have
  /// streams.
  private var waiting = CircularBuffer<Request>()
  private var unflushed = 0

  var common: ConnectionContext { connection.common }

  init(_ connection: ConnectionHandler) { self.connection = connection }

  /// Gives the request of a new stream the context in which its response may be offered for replays.
  func add(_ stream: any Channel) {
    guard let id = try? stream.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID),
      let recording = recordings[id]
    else { return }
    common.change(stream) { $0.replay = recording.context }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    // The multiplexer does not know the stream.
    guard !replayed.contains(frame.streamID) else { return }
    if case .headers(let content) = frame.payload, content.endStream,
      let key = RecordedResponses.key(of: content.headers),
      replay(Request(stream: frame.streamID, key: key, content: content), context)
    {
      return
    }
    context.fireChannelRead(data)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    flushWritten(context)
    context.fireChannelReadComplete()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    var hasPassedOn = false
    while context.channel.isWritable, let request = waiting.popFirst() {
      replayed.remove(request.stream)
      guard !replay(request, context) else { continue }
      hasPassedOn = true
      context.fireChannelRead(
        wrapInboundOut(HTTP2Frame(streamID: request.stream, payload: .headers(request.content))))
    }
    flushWritten(context)
    if hasPassedOn { context.fireChannelReadComplete() }
    context.fireChannelWritabilityChanged()
  }

  /// Sends the recorded response, now or when the client has read more.
  ///
  /// - Returns: `false` if there is none.
  private func replay(_ request: Request, _ context: ChannelHandlerContext) -> Bool {
    guard let known = common.memory.answer(to: request.key) else {
      recordings[request.stream] = Recording(request: request.key)
      return false
    }
    guard context.channel.isWritable else {
      replayed.insert(request.stream)
      waiting.append(request)
      return true
    }
    let renewed = common.renewed(age: known.age)
    guard let (head, body) = known.answer.frames(renewed) else { return false }
    connection.headArrived()
    replayed.insert(request.stream)
    let size = body.readableBytes
    write(.headers(.init(headers: head, endStream: size == 0)), on: request.stream, context)
    if size > 0 { write(.data(.init(data: .byteBuffer(body), endStream: true)), on: request.stream, context) }
    // The counters are updated before the client can ask for them.
    known.answer.reportReplay(renewed.requestID, to: common.address, since: request.arrival)
    unflushed += size + 1
    if unflushed >= Self.unflushedLimit { flushWritten(context) }
    return true
  }

  private func write(
    _ payload: HTTP2Frame.FramePayload, on stream: HTTP2StreamID, _ context: ChannelHandlerContext
  ) {
    context.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: nil)
  }

  private func flushWritten(_ context: ChannelHandlerContext) {
    guard unflushed > 0 else { return }
    unflushed = 0
    context.flush()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? StreamClosedEvent {
      replayed.remove(event.streamID)
      recordings[event.streamID] = nil
      waiting.removeAll { $0.stream == event.streamID }
    }
    context.fireUserInboundEventTriggered(event)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if !recordings.isEmpty {
      let frame = unwrapOutboundIn(data)
      if let recording = recordings.removeValue(forKey: frame.streamID) {
        recordings[frame.streamID] = record(frame.payload, recording)
      }
    }
    context.write(data, promise: promise)
  }

  /// - Returns: the recording; `nil` if it has ended.
  private func record(_ payload: HTTP2Frame.FramePayload, _ former: Recording) -> Recording? {
    var recording = former
    var isEnd = false
    switch payload {
    case .headers(let content) where recording.head == nil:
      // RFC 9110 §15.2: interim responses come before the one that is recorded.
      guard content.headers.first(name: ":status")?.first != "1" else { return nil }
      recording.head = content.headers
      isEnd = content.endStream
    case .data(let content):
      guard case .byteBuffer(let bytes) = content.data else { return nil }
      recording.body.append(bytes)
      recording.size += bytes.readableBytes
      guard recording.size <= RecordedResponses.bodyLimit else { return nil }
      isEnd = content.endStream
    case .windowUpdate, .priority: break
    // Trailers, or the stream is reset.
    default: return nil
    }
    guard isEnd else { return recording }
    if let head = recording.head, let offer = recording.context.removeOffer(),
      let answer = RecordedResponse(head, recording.body, offer)
    {
      common.memory.remember(answer, for: recording.request)
    }
    return nil
  }
}
