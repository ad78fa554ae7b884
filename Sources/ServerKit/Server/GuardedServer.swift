import HTTPTypes
import HummingbirdCore
import NIOCore

extension HTTPServerBuilder {
  /// A server for HTTP/1.1, or for HTTP/2 and HTTP/1.1 over TLS, that enforces the limits.
  ///
  /// - Parameters:
  ///   - tls: `nil` for a server without TLS.
  ///   - memory: the recorded responses.
  ///   - ownFields: the fields of this server's own responses.
  ///   - proxies: the proxies that are trusted.
  ///   - readsProxyHeader: `true` if their connections begin with a PROXY header.
  ///   - handlers: makes the handlers after those of HTTP, for each connection or each stream of HTTP/2.
  package static func guarded(
    _ limits: ServerSettings.Limits, tls: TLSReloader?, connections: ConnectionRegister, metrics: HostMetrics,
    memory: RawResponseCache = RawResponseCache(), ownFields: HTTPFields = [:],
    proxies: TrustedProxies = TrustedProxies(), readsProxyHeader: Bool = false,
    handlers: @escaping @Sendable () -> [any RemovableChannelHandler] = { [] }
  ) -> HTTPServerBuilder {
    let http1 = HTTP1Channel.Configuration(
      additionalChannelHandlers: [
        RequestPartsHandler(limits: limits, metrics: metrics, ownFields: ownFields), ClientDisconnectionHandler(),
      ] + handlers(),
      idleTimeout: TimeAmount(limits.idle),
      httpDecoderConfiguration: .init(
        maxHeaderFieldSize: limits.header, maxHeaderListSize: limits.header, maxHeaderFieldCount: 200))
    return HTTPServerBuilder { responder in
      guard let tls else {
        let channel = HTTP1Channel(responder: responder, configuration: http1)
        return GuardedChannel(
          base: channel, isPlain: true, limits: limits, connections: connections, metrics: metrics, memory: memory,
          ownFields: ownFields, proxies: proxies, readsProxyHeader: readsProxyHeader)
      }
      let channel = SecureChannel(tls, HTTP1Channel(responder: responder, configuration: http1), idle: limits.idle)
      return GuardedChannel(
        base: channel, isPlain: false, limits: limits, connections: connections,
        metrics: metrics, memory: memory, ownFields: ownFields, proxies: proxies, readsProxyHeader: readsProxyHeader)
    }
  }
}
