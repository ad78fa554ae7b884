import HTTPTransport
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTPTypes
import NIOSSL
import NIOTLS

/// Sets up a TLS connection for the protocol that the handshake chooses: HTTP/2, or HTTP/1.1 for a client that names
/// none.
///
/// On a connection of HTTP/2, requests whose responses are recorded are answered at once, and each of the others gets a
/// channel of its own, and a task if its event loop cannot answer it. Hummingbird's own set-up makes a channel and a task
/// for every request.
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
  private let limits: ServerSettings.Limits
  private let metrics: HostMetrics
  private let ownFields: HTTPFields

  /// - Parameters:
  ///   - http1: sets up connections of HTTP/1.1, and answers requests.
  ///   - ownFields: the fields of this server's own responses.
  init(
    _ tls: TLSReloader, _ http1: PromptChannel, _ limits: ServerSettings.Limits, _ metrics: HostMetrics,
    ownFields: HTTPFields
  ) {
    (self.tls, self.http1, self.limits, self.metrics, self.ownFields) = (tls, http1, limits, metrics, ownFields)
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
    let connection = try pipeline.handler(type: ConnectionHandler.self)
    let common = connection.common
    let handler = try HTTP2Handler(
      connection, headerLimit: limits.header, metrics: metrics, ownFields: ownFields, idle: TimeAmount(limits.idle)
    ) { stream in
      let pipeline = stream.pipeline.syncOperations
      try pipeline.addHandlers(http1.http1.configuration.additionalChannelHandlers())
      if let prompt = http1.prompt { try pipeline.addHandler(PromptHandler(prompt, on: common, .http2)) }
      try pipeline.addHandler(
        StreamTaskHandler { stream in
          // A stream carries one request, as a connection of HTTP/1 may.
          let value = try HTTP1Channel.Value(wrappingChannelSynchronously: stream)
          tasks.start {
            await ConnectionContext.$current.withValue(common) { await http1.handle(value: value, logger: logger) }
          }
        })
    }
    try pipeline.addHandler(handler)
    // It was not there yet to be told.
    if connection.isStopping { handler.announceEnd() }
    return tasks
  }
}

/// Starts the task of a stream when it has a request that was not answered on the event loop.
private final class StreamTaskHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart

  private var start: ((any Channel) throws -> Void)?

  init(_ start: @escaping (any Channel) throws -> Void) { self.start = start }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if let start {
      self.start = nil
      do { try start(context.channel) } catch { return context.close(promise: nil) }
    }
    context.fireChannelRead(data)
  }
}
