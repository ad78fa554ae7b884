import HTTPTransport
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP2
import NIOHTTPTypes
import NIOHTTPTypesHTTP2
import NIOSSL
import NIOTLS

/// Sets up a TLS connection for the protocol that the handshake chooses: HTTP/2, or HTTP/1.1 for a client that names
/// none.
///
/// On a connection of HTTP/2, requests whose responses are recorded are answered at once, and each of the others gets a
/// channel of its own. Hummingbird's own set-up makes a channel and a task for every request.
struct SecureChannel: ServerChildChannel {
  /// The names of the protocols for the handshake. RFC 7301.
  static let protocols = ["h2", "http/1.1"]

  enum Chosen: Sendable {
    case http1(HTTP1Channel.Value)
    /// The tasks that answer the requests.
    case http2(RunningTasks)
  }

  struct Value: ServerChildChannelValue {
    let chosen: EventLoopFuture<Chosen>
    let channel: any Channel
  }

  private typealias Negotiation = NIOTypedApplicationProtocolNegotiationHandler<Chosen>

  private let tls: TLSReloader
  private let http1: PromptChannel
  private let idle: Duration

  /// - Parameters:
  ///   - http1: sets up connections of HTTP/1.1, and answers requests.
  ///   - idle: the time after which a connection of HTTP/2 without requests is closed.
  init(_ tls: TLSReloader, _ http1: PromptChannel, idle: Duration) {
    (self.tls, self.http1, self.idle) = (tls, http1, idle)
  }

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    channel.eventLoop.makeCompletedFuture {
      let negotiation = Negotiation { result in
        if case .negotiated("h2") = result {
          return channel.eventLoop.makeCompletedFuture { .http2(try setUpStreams(channel, logger)) }
        }
        return http1.setup(channel: channel, logger: logger).map { .http1($0) }
      }
      try channel.pipeline.syncOperations.addHandlers([NIOSSLServerHandler(context: tls.context), negotiation])
      return Value(chosen: negotiation.protocolNegotiationResult, channel: channel)
    }
  }

  func handle(value: Value, logger: Logger) async {
    do {
      switch try await value.chosen.get() {
      case .http1(let connection): await http1.handle(value: connection, logger: logger)
      case .http2(let tasks):
        await withTaskCancellationHandler {
          try? await value.channel.closeFuture.get()
          await tasks.finish()
        } onCancel: {
          tasks.cancel()
          value.channel.close(promise: nil)
        }
      }
    } catch {
      logger.debug("A TLS connection ended before a protocol was chosen: \(error.sentence)")
    }
  }

  private func setUpStreams(_ channel: any Channel, _ logger: Logger) throws -> RunningTasks {
    let tasks = RunningTasks()
    let pipeline = channel.pipeline.syncOperations
    let replay = StreamReplayHandler(try pipeline.handler(type: ConnectionHandler.self))
    let bound = NIOLoopBound(replay, eventLoop: channel.eventLoop)
    let multiplexer = HTTP2StreamMultiplexer(mode: .server, channel: channel) { stream in
      stream.eventLoop.makeCompletedFuture {
        let value = try setUpStream(stream, logger)
        let common = bound.value.common
        bound.value.add(stream)
        tasks.start {
          await ConnectionContext.$current.withValue(common) { await http1.handle(value: value, logger: logger) }
        }
      }
    }
    try pipeline.addHandlers([
      NIOHTTP2Handler(mode: .server, connectionConfiguration: .init(), streamConfiguration: .init()), replay,
      multiplexer, IdleStreamsHandler(idle: TimeAmount(idle)),
    ])
    return tasks
  }

  /// A stream carries one request, as a connection of HTTP/1 may.
  private func setUpStream(_ stream: any Channel, _ logger: Logger) throws -> HTTP1Channel.Value {
    let pipeline = stream.pipeline.syncOperations
    try pipeline.addHandler(HTTP2FramePayloadToHTTPServerCodec())
    try pipeline.addHandlers(http1.http1.configuration.additionalChannelHandlers())
    try pipeline.addHandler(HTTPConnectionStateHandler(logger: logger))
    return try HTTP1Channel.Value(wrappingChannelSynchronously: stream)
  }
}

/// Closes a connection of HTTP/2 that has had no request for a while, or that the server ends: it tells the client that
/// no further requests are answered, and waits for those that are under way. RFC 9113 §6.8.
///
/// NIOHTTP2's handler for this purpose waits without a limit for a client that acknowledges nothing.
final class IdleStreamsHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTP2Frame
  typealias InboundOut = HTTP2Frame
  typealias OutboundOut = HTTP2Frame

  private enum Ending {
    case none
    /// The client was told; requests that it sent before it knew are answered until it acknowledges the ping.
    case announced
    /// No further requests are answered.
    case final
  }

  /// The data of the ping that follows the announcement.
  private static let ping = HTTP2PingData(withInteger: 0x7061_6765_6B69_7400)
  /// The time for the acknowledgement, and then for the requests that are under way.
  private static let patience = TimeAmount.seconds(5)

  private let idle: TimeAmount
  private var ending = Ending.none
  private var openStreams = 0
  private var lastStream = HTTP2StreamID.rootStream
  private var timer: Scheduled<Void>?

  init(idle: TimeAmount) { self.idle = idle }

  func handlerAdded(context: ChannelHandlerContext) { awaitRequest(context) }

  func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.cancel()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .ping(Self.ping, ack: true) = unwrapInboundIn(data).payload, case .announced = ending {
      ending = .final
      send(.goAway(lastStreamID: lastStream, errorCode: .noError, opaqueData: nil), context)
      context.flush()
      if openStreams == 0 { context.close(promise: nil) } else { closeAfterPatience(context) }
    }
    context.fireChannelRead(data)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case let event as NIOHTTP2StreamCreatedEvent:
      openStreams += 1
      lastStream = max(lastStream, event.streamID)
      if case .none = ending { timer?.cancel() }
    case is StreamClosedEvent:
      openStreams -= 1
      if openStreams == 0 { allEnded(context) }
    case is ChannelShouldQuiesceEvent: announceEnd(context)
    case ChannelEvent.inputClosed: context.close(promise: nil)
    default: break
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // RFC 9113 §5.4.2: the stream was reset; the connection's other streams go on.
    if !Self.isOfStream(error) { context.close(promise: nil) }
  }

  /// Returns `true` if NIOHTTP2 has reset one stream for this error, and `false` if it has told the client that the
  /// connection ends: the error alone tells which. RFC 9113 §8.1.1: a malformed request is a stream error.
  private static func isOfStream(_ error: any Error) -> Bool {
    switch error {
    case is NIOHTTP2Errors.StreamError, is NIOHTTP2Errors.MissingPseudoHeader, is NIOHTTP2Errors.DuplicatePseudoHeader,
      is NIOHTTP2Errors.PseudoHeaderAfterRegularHeader, is NIOHTTP2Errors.UnknownPseudoHeader,
      is NIOHTTP2Errors.UnsupportedPseudoHeader, is NIOHTTP2Errors.InvalidPseudoHeaders,
      is NIOHTTP2Errors.InvalidPseudoHeaderValue, is NIOHTTP2Errors.EmptyPathHeader,
      is NIOHTTP2Errors.InvalidHTTP2HeaderFieldName, is NIOHTTP2Errors.InvalidHTTP2HeaderFieldValue,
      is NIOHTTP2Errors.ForbiddenHeaderField, is NIOHTTP2Errors.TrailersWithoutEndStream,
      is NIOHTTP2Errors.ContentLengthViolated, is NIOHTTP2Errors.ContentLengthHeadersMismatch,
      is NIOHTTP2Errors.ContentLengthHeaderNegative, is NIOHTTP2Errors.ContentLengthHeaderMalformedValue:
      true
    default: false
    }
  }

  private func allEnded(_ context: ChannelHandlerContext) {
    switch ending {
    case .none: awaitRequest(context)
    case .announced: break
    case .final:
      // The stream counts as ended when its last bytes are written; whoever has written them flushes them next.
      schedule(after: .zero, context) { $1.close(promise: nil) }
    }
  }

  private func awaitRequest(_ context: ChannelHandlerContext) {
    schedule(after: idle, context) { $0.announceEnd($1) }
  }

  private func announceEnd(_ context: ChannelHandlerContext) {
    guard case .none = ending else { return }
    ending = .announced
    send(.goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil), context)
    send(.ping(Self.ping, ack: false), context)
    context.flush()
    closeAfterPatience(context)
  }

  private func closeAfterPatience(_ context: ChannelHandlerContext) {
    schedule(after: Self.patience, context) { $1.close(promise: nil) }
  }

  private func schedule(
    after time: TimeAmount, _ context: ChannelHandlerContext,
    _ action: @escaping @Sendable (IdleStreamsHandler, ChannelHandlerContext) -> Void
  ) {
    timer?.cancel()
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(in: time) { action(bound.value.0, bound.value.1) }
  }

  private func send(_ payload: HTTP2Frame.FramePayload, _ context: ChannelHandlerContext) {
    context.write(wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: payload)), promise: nil)
  }
}
