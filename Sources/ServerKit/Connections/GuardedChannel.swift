import CoreMetrics
import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import Synchronization

extension HTTPServerBuilder {
  /// A server for HTTP/1.1, or for HTTP/2 and HTTP/1.1 over TLS, that enforces the limits.
  ///
  /// - Parameters:
  ///   - tls: `nil` for a server without TLS.
  ///   - memory: the recorded responses.
  ///   - ownFields: the fields of this server's own responses.
  ///   - proxies: the proxies that are trusted.
  ///   - readsProxyHeader: `true` if their connections begin with a PROXY header.
  ///   - prompt: answers requests of connections of HTTP/1 on their event loops; `nil` to answer all with tasks.
  package static func guarded(
    _ limits: ServerSettings.Limits, tls: TLSReloader?, connections: ConnectionRegister, metrics: HostMetrics,
    memory: RecordedResponses = RecordedResponses(), ownFields: HTTPFields = [:],
    proxies: TrustedProxies = TrustedProxies(), readsProxyHeader: Bool = false,
    prompt: PromptAnswers? = nil
  ) -> HTTPServerBuilder {
    let http1 = HTTP1Channel.Configuration(
      additionalChannelHandlers: [RequestPartsHandler(limits: limits, metrics: metrics, ownFields: ownFields)],
      httpDecoderConfiguration: .init(
        maxHeaderFieldSize: limits.header, maxHeaderListSize: limits.header, maxHeaderFieldCount: 200))
    return HTTPServerBuilder { responder in
      func guarding<Base: ServerChildChannel>(_ base: Base) -> GuardedChannel<Base> {
        GuardedChannel(
          base: base, isPlain: tls == nil, limits: limits, connections: connections, metrics: metrics, memory: memory,
          ownFields: ownFields, proxies: proxies, readsProxyHeader: readsProxyHeader)
      }
      let channel = PromptChannel(http1: HTTP1Channel(responder: responder, configuration: http1), prompt: prompt)
      guard let tls else { return guarding(channel) }
      return guarding(SecureChannel(tls, channel, limits, metrics, ownFields: ownFields))
    }
  }
}

/// Sets up a connection of HTTP/1, some of whose requests are answered on its event loop.
struct PromptChannel: ServerChildChannel {
  let http1: HTTP1Channel
  let prompt: PromptAnswers?

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
    http1.setup(channel: channel, logger: logger).flatMapThrowing { value in
      let pipeline = channel.pipeline.syncOperations
      // A connection that is refused has none.
      if let prompt, let connection = try? pipeline.handler(type: ConnectionHandler.self) {
        // Before it: at a shutdown, a connection with a request that is answered here is closed after the answer.
        let state = try pipeline.handler(type: HTTPConnectionStateHandler.self)
        try pipeline.addHandler(PromptHandler(prompt, on: connection.common, .http11), position: .after(state))
      }
      return value
    }
  }

  func handle(value: HTTP1Channel.Value, logger: Logger) async { await http1.handle(value: value, logger: logger) }
}

/// Wraps another channel set-up: counts connections, refuses those over the limit, and watches each.
struct GuardedChannel<Base: ServerChildChannel>: ServerChildChannel {
  typealias Value = Base.Value

  let base: Base
  let isPlain: Bool
  let limits: ServerSettings.Limits
  let connections: ConnectionRegister
  let metrics: HostMetrics
  let memory: RecordedResponses
  let ownFields: HTTPFields
  let proxies: TrustedProxies
  /// `true` if connections of trusted proxies begin with a PROXY header.
  let readsProxyHeader: Bool
  let refusals = LogThrottles()

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    do {
      try guardConnection(channel, logger)
    } catch {
      return channel.eventLoop.makeFailedFuture(error)
    }
    return base.setup(channel: channel, logger: logger)
  }

  func handle(value: Value, logger: Logger) async {
    let common = try? await value.channel.pipeline.handler(type: ConnectionHandler.self).map(\.common).get()
    await ConnectionContext.$current.withValue(common) { await base.handle(value: value, logger: logger) }
  }

  private func guardConnection(_ channel: any Channel, _ logger: Logger) throws {
    let address = channel.remoteAddress?.ipAddress ?? "-"
    let isProxy = proxies.contains(address)
    // A proxy has the connections of all its clients.
    guard isProxy || isAdmitted(address, channel, logger) else {
      return try channel.pipeline.syncOperations.addHandler(RefusalHandler(isPlain: isPlain, fields: ownFields))
    }
    metrics.connections.increment()
    channel.closeFuture.whenComplete { _ in metrics.connections.decrement() }
    // The buffer of each connection for a slow client.
    try channel.syncOptions?.setOption(.writeBufferWaterMark, value: .init(low: 16 << 10, high: 32 << 10))
    let common = ConnectionContext(memory: memory, address: address)
    if isProxy, readsProxyHeader {
      try channel.pipeline.syncOperations.addHandler(
        ProxyHeaderHandler { client in
          guard let client = client?.text else { return nil }
          common.forwards(for: client)
          return proxies.contains(client) || isAdmitted(client, channel, logger)
            ? nil : isPlain ? RefusalHandler.answer(ownFields) : ByteBuffer()
        })
    }
    try channel.pipeline.syncOperations.addHandler(
      ConnectionHandler(limits: limits, isPlain: isPlain, common: common))
  }

  /// Counts the connection of an address.
  ///
  /// - Returns: `false` if the address has too many.
  private func isAdmitted(_ address: String, _ channel: any Channel, _ logger: Logger) -> Bool {
    guard connections.enter(address) else {
      if let times = refusals.count("connections", at: .now) {
        logger.notice(
          "Too many connections", metadata: ["address": .string(address), "times": .stringConvertible(times)])
      }
      metrics.refusals("connections").increment()
      return false
    }
    channel.closeFuture.whenComplete { _ in connections.leave(address) }
    return true
  }
}

/// The number of connections of each address.
package final class ConnectionRegister: Sendable {
  private let limit: Int
  private let counts = Mutex<[String: Int]>([:])

  package init(limit: Int) { self.limit = limit }

  /// Counts a connection.
  ///
  /// - Returns: `false` if the address has reached its limit; otherwise ``leave(_:)`` must follow.
  func enter(_ address: String) -> Bool {
    counts.withLock { counts in
      guard counts[address, default: 0] < limit else { return false }
      counts[address, default: 0] += 1
      return true
    }
  }

  func leave(_ address: String) {
    counts.withLock { counts in
      guard let count = counts[address] else { return }
      counts[address] = count > 1 ? count - 1 : nil
    }
  }

  package var total: Int { counts.withLock { $0.values.reduce(0, +) } }
}

/// Refuses a connection: answers in plain HTTP if there is no TLS, and closes.
///
/// RFC 6585 §4: 429 Too Many Requests.
final class RefusalHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let isPlain: Bool
  private let fields: HTTPFields

  /// - Parameter fields: further fields of the response.
  init(isPlain: Bool, fields: HTTPFields = [:]) { (self.isPlain, self.fields) = (isPlain, fields) }

  func channelActive(context: ChannelHandlerContext) {
    guard isPlain else { return context.close(promise: nil) }
    let channel = context.channel
    context.writeAndFlush(wrapOutboundOut(Self.answer(fields))).whenComplete { _ in
      channel.close(mode: .all, promise: nil)
    }
  }

  /// The bytes of the answer.
  ///
  /// - Parameter fields: further fields.
  static func answer(_ fields: HTTPFields) -> ByteBuffer {
    let body = String(decoding: JSONValue.error("too many connections from this address").text, as: UTF8.self)
    let lines = fields.map { "\($0.name.rawName): \($0.value)\r\n" }.joined()
    return ByteBuffer(
      string: """
        HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\
        Retry-After: 1\r\nDate: \(HTTPDate.now)\r\n\(lines)Connection: close\r\n\r\n\(body)
        """)
  }

  // The bytes of the client are discarded.
  func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
}

/// Pauses accepting connections after an error, and logs it: the first time, and then at most once a minute with the
/// number of errors.
///
/// NIO's own `AcceptBackoffHandler` delays the next read, but the channel stays registered for the read that failed and
/// so tries again at once: 10,000 times a second. Only a channel with `autoRead` off is unregistered.
package final class AcceptErrorHandler: ChannelInboundHandler {
  package typealias InboundIn = any Channel

  /// The connections that may wait to be accepted, where the system allows as many.
  package static let backlog = 4_096

  private let metrics: HostMetrics
  private let logger: Logger
  private let errors = LogThrottles(every: .seconds(60))
  private static let pause = TimeAmount.seconds(1)

  package init(metrics: HostMetrics, logger: Logger) { (self.metrics, self.logger) = (metrics, logger) }

  /// - Parameters:
  ///   - channel: a listening channel.
  ///   - connections: the limit of open connections. It is checked before a read, and a read accepts up to a sixteenth of
  ///     it, at most 64: with fewer, many clients that come at once wait for each other's requests.
  package static func add(to channel: any Channel, connections: Int, metrics: HostMetrics, logger: Logger) async {
    try? await channel.setOption(.maxMessagesPerRead, value: UInt(min(max(connections / 16, 1), 64))).get()
    try? await channel.eventLoop.submit {
      try channel.pipeline.syncOperations.addHandler(
        AcceptErrorHandler(metrics: metrics, logger: logger), position: .first)
    }.get()
  }

  package func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let error = error as? IOError else { return context.fireErrorCaught(error) }
    record(error, at: .now)
    let channel = context.channel
    channel.setOption(.autoRead, value: false).whenSuccess {
      channel.eventLoop.scheduleTask(in: Self.pause) { channel.setOption(.autoRead, value: true) }
    }
  }

  private func record(_ error: IOError, at now: ContinuousClock.Instant) {
    metrics.refusals("accept").increment()
    guard let count = errors.count("", at: now) else { return }
    let advice = [EMFILE, ENFILE].contains(error.errnoCode) ? "; lower --max-connections or raise ulimit -n" : ""
    logger.error(
      "Connections cannot be accepted: \(String(cString: strerror(error.errnoCode)))\(advice)",
      metadata: ["tries": "\(count)"])
  }
}
