import HTTPTransport
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTPTypes
import NIOSSL
import NIOTLS

/// Sets up a TLS connection for the protocol that the handshake chooses: HTTP/2, or HTTP/1.1 for a client that names
/// none.
struct SecureChannel: ServerChildChannel {
  /// The names of the protocols for the handshake. RFC 7301.
  static let protocols = ["h2", "http/1.1"]

  enum Chosen: Sendable {
    case http1(HTTP1Channel.Value)
    case http2(StreamsChannel.Value)
  }

  struct Value: ServerChildChannelValue {
    let chosen: EventLoopFuture<Chosen>
    let channel: any Channel
  }

  private typealias Negotiation = NIOTypedApplicationProtocolNegotiationHandler<Chosen>

  private let tls: TLSReloader
  private let http1: HTTP1Channel
  private let http2: StreamsChannel

  /// - Parameters:
  ///   - http1: sets up connections of HTTP/1.1, and answers requests.
  ///   - idle: the time after which a connection of HTTP/2 without requests is closed.
  init(_ tls: TLSReloader, _ http1: HTTP1Channel, idle: Duration) {
    (self.tls, self.http1) = (tls, http1)
    http2 = StreamsChannel(http1, idle: idle)
  }

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    channel.eventLoop.makeCompletedFuture {
      let negotiation = Negotiation { result in
        if case .negotiated("h2") = result {
          return channel.eventLoop.makeCompletedFuture { .http2(try http2.setUp(channel, logger)) }
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
      case .http2(let connection): await http2.handle(connection)
      }
    } catch {
      logger.debug("A TLS connection ended before a protocol was chosen: \(error.sentence)")
    }
  }
}
