import HTTPTransport
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP2
import NIOHTTPTypesHTTP2

/// Sets up a connection of HTTP/2: requests whose responses are recorded are answered on the connection, and each of the
/// others gets a channel of its own.
///
/// Hummingbird's own set-up makes a channel and a task for every request.
struct StreamsChannel: Sendable {
  struct Value: Sendable {
    let channel: any Channel
    /// Those that answer requests.
    let tasks: RunningTasks
  }

  private let http1: HTTP1Channel
  private let idle: Duration

  /// - Parameters:
  ///   - http1: answers the requests, with the handlers of its configuration.
  ///   - idle: the time after which a connection without requests is closed.
  init(_ http1: HTTP1Channel, idle: Duration) { (self.http1, self.idle) = (http1, idle) }

  func setUp(_ channel: any Channel, _ logger: Logger) throws -> Value {
    let tasks = RunningTasks()
    let pipeline = channel.pipeline.syncOperations
    let replay = StreamReplayHandler(try pipeline.handler(type: ConnectionHandler.self))
    let bound = NIOLoopBound(replay, eventLoop: channel.eventLoop)
    let multiplexer = HTTP2StreamMultiplexer(mode: .server, channel: channel) { stream in
      stream.eventLoop.makeCompletedFuture {
        let value = try connection(stream, logger)
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
    return Value(channel: channel, tasks: tasks)
  }

  /// A stream carries one request, as a connection of HTTP/1 may.
  private func connection(_ stream: any Channel, _ logger: Logger) throws -> HTTP1Channel.Value {
    let pipeline = stream.pipeline.syncOperations
    try pipeline.addHandler(HTTP2FramePayloadToHTTPServerCodec())
    try pipeline.addHandlers(http1.configuration.additionalChannelHandlers())
    try pipeline.addHandler(HTTPConnectionStateHandler(idleTimeout: idle, logger: logger))
    return try HTTP1Channel.Value(wrappingChannelSynchronously: stream)
  }

  /// Returns when the connection is closed, and its requests have ended.
  func handle(_ value: Value) async {
    await withTaskCancellationHandler {
      try? await value.channel.closeFuture.get()
      await value.tasks.finish()
    } onCancel: {
      value.tasks.cancel()
      value.channel.close(promise: nil)
    }
  }
}
