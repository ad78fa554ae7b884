import Hummingbird
import NIOCore

/// The HTTP version of a request, as `Via` names it. RFC 9110 §7.6.3.
package enum RequestVersion: String, Sendable {
  case http10 = "1.0"
  case http11 = "1.1"
  case http2 = "2"

  package init(of request: Request, on channel: any Channel) async {
    // A stream's parent is a connection, whose parent is the listening socket.
    if channel.parent?.parent != nil {
      self = .http2
    } else if request.headers[.connection] == "close",
      let isOld = try? await channel.pipeline.handler(type: LastRequestHandler.self).map(\.isOld).get(), isOld
    {
      // Every HTTP/1.0 request is the last of its connection.
      self = .http10
    } else {
      self = .http11
    }
  }
}
