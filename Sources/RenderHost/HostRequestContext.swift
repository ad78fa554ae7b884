import Hummingbird
import Logging
import NIOCore

/// What routes know of a request besides the request.
struct HostRequestContext: RequestContext, RemoteAddressRequestContext {
  var coreContext: CoreRequestContextStorage
  let remoteAddress: SocketAddress?
  /// Whether the client is still there, where that is watched.
  let departure: ClientDeparture?

  init(source: ApplicationRequestContextSource) { self.init(source: source, departure: nil) }

  init(source: ApplicationRequestContextSource, departure: ClientDeparture?) {
    self.departure = departure
    coreContext = .init(source: source)
    remoteAddress = source.channel.remoteAddress
  }
}
