import HTTPTypes
import Hummingbird
import NIOCore
import ServerKit

extension BytePipe {
  /// The bytes that a client sends over the web socket that its request asks for; `nil` if it asks for none.
  static func ofSocket(for request: Request, on channel: any Channel) async -> BytePipe? {
    // Only ``LastRequestHandler`` leaves these two fields together, for a web socket; streams of HTTP/2 have no such
    // handler.
    guard request.headers[.connection] == "close", request.headers[.upgrade] == "websocket" else { return nil }
    return try? await channel.pipeline.handler(type: RequestBytesHandler.self).map(\.socketBytes).get()
  }
}
