import Hummingbird
import Logging
import NIOCore

/// What routes know of a request besides the request.
struct HostRequestContext: RequestContext, RemoteAddressRequestContext {
  var coreContext: CoreRequestContextStorage
  let remoteAddress: SocketAddress?
  /// The connection's.
  let eventLoop: any EventLoop
  /// Whether the client is still there, where that is watched.
  let departure: ClientDeparture?
  /// In which the request came; known on the gateway's listener.
  let version: RequestVersion
  /// Filled in by the gateway; `nil` on other listeners.
  let note: GatewayNote?
  /// The bytes that the client sends over the web socket that it asks for; `nil` if it asks for none, or not of the gateway.
  let socketBytes: BytePipe?

  /// Whose request it is, where clients take turns: all of one address are one.
  var client: String { remoteAddress?.ipAddress ?? "" }

  init(source: ApplicationRequestContextSource) { self.init(source: source, version: .http11, departure: nil) }

  init(
    source: ApplicationRequestContextSource, version: RequestVersion, departure: ClientDeparture?,
    socketBytes: BytePipe? = nil, note: GatewayNote? = nil
  ) {
    (self.socketBytes, self.note) = (socketBytes, note)
    self.version = version
    self.departure = departure
    coreContext = .init(source: source)
    remoteAddress = source.channel.remoteAddress
    eventLoop = source.channel.eventLoop
  }
}
