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

  private let connection: ConnectionHandler
  /// The responses that are being written.
  private var recordings: [HTTP2StreamID: Recording] = [:]
  /// The streams of replayed responses that are still being sent.
  private var replayed: Set<HTTP2StreamID> = []
  private var hasWritten = false

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
    // Nobody else knows of the stream.
    guard !replayed.contains(frame.streamID) else { return }
    if case .headers(let content) = frame.payload, replay(content, on: frame.streamID, context) { return }
    context.fireChannelRead(data)
  }

  /// - Returns: `false` if there is no recorded response.
  private func replay(
    _ request: HTTP2Frame.FramePayload.Headers, on stream: HTTP2StreamID, _ context: ChannelHandlerContext
  ) -> Bool {
    guard request.endStream, let key = RawResponseCache.key(of: request.headers) else { return false }
    let started = ContinuousClock.now
    // A client that reads nothing is answered on a stream, which waits for it.
    guard context.channel.isWritable, let known = common.memory.answer(to: key) else {
      recordings[stream] = Recording(request: key)
      return false
    }
    let renewed = common.renewed(age: known.age)
    guard let (head, body) = known.answer.frames(renewed) else { return false }
    connection.headArrived()
    replayed.insert(stream)
    let hasBody = body.readableBytes > 0
    write(.headers(.init(headers: head, endStream: !hasBody)), on: stream, context)
    if hasBody { write(.data(.init(data: .byteBuffer(body), endStream: true)), on: stream, context) }
    hasWritten = true
    // The counters are updated before the client can ask for them.
    known.answer.note(renewed.requestID, from: common.address, since: started)
    return true
  }

  private func write(
    _ payload: HTTP2Frame.FramePayload, on stream: HTTP2StreamID, _ context: ChannelHandlerContext
  ) {
    context.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: nil)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if hasWritten {
      hasWritten = false
      context.flush()
    }
    context.fireChannelReadComplete()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? StreamClosedEvent {
      replayed.remove(event.streamID)
      recordings[event.streamID] = nil
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
      guard recording.size <= RawResponseCache.bodyLimit else { return nil }
      isEnd = content.endStream
    case .windowUpdate, .priority: break
    // Trailers, or the stream is reset.
    default: return nil
    }
    guard isEnd else { return recording }
    if let head = recording.head, let offer = recording.context.take(),
      let answer = RecordedResponse(head, recording.body, offer)
    {
      common.memory.remember(answer, for: recording.request)
    }
    return nil
  }
}
