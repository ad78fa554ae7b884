import Hummingbird
import Logging
import NIOCore

/// The context of a request: its connection, its client and its log.
package struct HostRequestContext: RequestContext, RemoteAddressRequestContext {
  package var coreContext: CoreRequestContextStorage
  package let remoteAddress: SocketAddress?
  /// The channel of the connection, or of one stream of HTTP/2.
  package let channel: any Channel
  /// The HTTP version of the request; known on the gateway's listener.
  package let version: RequestVersion
  /// The fields for the access log; `nil` if the line has no further fields.
  package let note: AccessLogNote?
  /// The bytes that the client sends over a web socket through the gateway; `nil` for other requests.
  package let socketBytes: BytePipe?

  /// Takes the statements about replaying the response; `nil` on channels whose responses are not recorded.
  package let replay: ReplayContext?
  /// The disconnection of the client, which may have happened already.
  package let disconnection: ClientDisconnection
  /// The id of the request, in its log lines and its response; `nil` before there is one.
  var requestID: String?
  /// `true` if the connection is being closed after the response to an earlier request.
  let followsLast: Bool

  /// The address of the other side of the connection, or of the client that its proxy names in a PROXY header; `nil` if
  /// it is unknown.
  package let peer: String?
  /// The key by which clients take turns: all clients of one address share one.
  package var client: String

  /// Logs with the request's id. A logger that gets it formats all that it adds to its lines; so only a request that logs
  /// gives it one.
  package var requestLogger: Logger {
    var logger = logger
    if let requestID { logger[metadataKey: RequestIDMiddleware.logKey] = .string(requestID) }
    return logger
  }

  package init(source: ApplicationRequestContextSource) { self.init(source: source, version: .http11) }

  package init(
    source: ApplicationRequestContextSource, version: RequestVersion, socketBytes: BytePipe? = nil,
    note: AccessLogNote? = nil
  ) {
    (self.socketBytes, self.note) = (socketBytes, note)
    self.version = version
    coreContext = .init(source: source)
    channel = source.channel
    let connection = ConnectionContext.current
    let common = connection?.context(of: source.channel) ?? .init()
    (replay, disconnection, followsLast) = (common.replay, common.disconnection, common.hasLast)
    remoteAddress = source.channel.remoteAddress
    peer = connection?.address ?? remoteAddress?.ipAddress
    client = peer ?? ""
  }
}
