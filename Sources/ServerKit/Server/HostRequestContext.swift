import Hummingbird
import Logging
import NIOCore

/// The context of a request: its connection, its client and its log.
package struct HostRequestContext: RequestContext, RemoteAddressRequestContext {
  package var coreContext: CoreRequestContextStorage
  package let remoteAddress: SocketAddress?
  /// The connection's, or one stream's of HTTP/2.
  package let channel: any Channel
  /// The HTTP version of the request; known on the gateway's listener.
  package let version: RequestVersion
  /// Fields for the access log; `nil` if its line has no others than usual.
  package let note: AccessLogNote?
  /// The bytes that the client sends over the web socket that it asks for; `nil` if it asks for none, or not of the gateway.
  package let socketBytes: BytePipe?

  /// The key of the client where clients take turns: all clients of one address share one.
  package var client: String { remoteAddress?.ipAddress ?? "" }

  package init(source: ApplicationRequestContextSource) { self.init(source: source, version: .http11) }

  package init(
    source: ApplicationRequestContextSource, version: RequestVersion, socketBytes: BytePipe? = nil,
    note: AccessLogNote? = nil
  ) {
    (self.socketBytes, self.note) = (socketBytes, note)
    self.version = version
    coreContext = .init(source: source)
    channel = source.channel
    remoteAddress = source.channel.remoteAddress
  }

  /// The disconnection of the client, which has happened or may happen.
  package func disconnection() async -> ClientDisconnection { await ClientDisconnection.of(channel) }
}
