import Hummingbird
import Logging
import NIOCore

/// What routes know of a request besides the request.
struct HostRequestContext: RequestContext, RemoteAddressRequestContext {
  var coreContext: CoreRequestContextStorage
  let remoteAddress: SocketAddress?
  /// The connection's, or one stream's of HTTP/2.
  let channel: any Channel
  /// In which the request came; known on the gateway's listener.
  let version: RequestVersion
  /// Fields for the access log; `nil` if its line has no others than usual.
  let note: AccessLogNote?
  /// The bytes that the client sends over the web socket that it asks for; `nil` if it asks for none, or not of the gateway.
  let socketBytes: BytePipe?

  /// Whose request it is, where clients take turns: all of one address are one.
  var client: String { remoteAddress?.ipAddress ?? "" }

  init(source: ApplicationRequestContextSource) { self.init(source: source, version: .http11) }

  init(
    source: ApplicationRequestContextSource, version: RequestVersion, socketBytes: BytePipe? = nil,
    note: AccessLogNote? = nil
  ) {
    (self.socketBytes, self.note) = (socketBytes, note)
    self.version = version
    coreContext = .init(source: source)
    channel = source.channel
    remoteAddress = source.channel.remoteAddress
  }

  /// The going of the client that asks.
  func departure() async -> ClientDeparture { await ClientDeparture.of(channel) }
}
