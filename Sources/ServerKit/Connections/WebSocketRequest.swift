import CCrypto
import Foundation
import HTTPTransport
import HTTPTypes
import Hummingbird
import NIOCore

extension BytePipe {
  /// The bytes that a client sends over the web socket that its request asks for; `nil` if it asks for none.
  package static func ofSocket(for request: Request, on channel: any Channel) async -> BytePipe? {
    // Only ``RequestHeadHandler`` leaves these two fields together, for a web socket; streams of HTTP/2 have no such
    // handler.
    guard request.headers[.connection] == "close", request.headers[.upgrade] == "websocket" else { return nil }
    return try? await channel.pipeline.handler(type: RequestBytesHandler.self).map(\.socketBytes).get()
  }
}

/// The field `Sec-WebSocket-Key`, and its answer. RFC 6455 §4.2.2.
package enum WebSocketKey {
  /// The `Sec-WebSocket-Accept` that answers a key.
  ///
  /// - Returns: `nil` if libcrypto refuses SHA-1.
  package static func accepted(_ key: String) -> String? {
    let text = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    guard EVP_Digest(text, text.count, &digest, &count, EVP_sha1(), nil) == 1 else { return nil }
    return Data(digest.prefix(Int(count))).base64EncodedString()
  }

  /// The fields of the response that opens the web socket of a request.
  ///
  /// - Throws: `HTTPError` if the request is not one of RFC 6455.
  package static func answer(to request: Request) throws -> HTTPFields {
    guard let version = HTTPField.Name("Sec-WebSocket-Version"), let name = HTTPField.Name("Sec-WebSocket-Key"),
      let acceptName = HTTPField.Name("Sec-WebSocket-Accept")
    else { throw HTTPError(.internalServerError) }
    guard request.headers[version] == "13" else {
      throw HTTPError(.upgradeRequired, headers: [version: "13"], message: "the web socket's version must be 13")
    }
    guard let key = request.headers[name], [UInt8](base64: key)?.count == 16, let accept = accepted(key) else {
      throw HTTPError(.badRequest, message: "the field Sec-WebSocket-Key must be 16 bytes in base64")
    }
    return [.connection: "Upgrade", .upgrade: "websocket", acceptName: accept]
  }
}
