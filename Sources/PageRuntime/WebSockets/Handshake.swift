import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// The opening request and the check of its answer. RFC 6455 §4.1.
struct Handshake: Sendable {
  let address: WebSocketAddress
  let protocols: [String]
  let fields: HTTPFields

  /// - Throws: ``WebSocketError`` if the URL or a subprotocol is invalid.
  init(_ request: WebSocketRequest) throws {
    address = try WebSocketAddress(request.url)
    // RFC 6455 §4.1, 10: subprotocols are tokens, each of them once.
    for (index, name) in request.protocols.enumerated() {
      guard HTTPField.isToken(name), !request.protocols[..<index].contains(name) else {
        throw WebSocketError.invalidProtocol(name)
      }
    }
    protocols = request.protocols
    fields = request.fields
  }

  var head: HTTPRequestHead {
    var headers = HTTPHeaders()
    headers.add(name: "Host", value: address.authority)
    for field in fields where !Self.reserved.contains(field.name.canonicalName) {
      headers.add(name: field.name.rawName, value: field.value)
    }
    if !protocols.isEmpty { headers.add(name: "Sec-WebSocket-Protocol", value: protocols.joined(separator: ", ")) }
    return HTTPRequestHead(version: .http1_1, method: .GET, uri: address.resource, headers: headers)
  }

  /// The fields that the protocol itself sets.
  private static let reserved: Set<String> = [
    "host", "connection", "upgrade", "content-length", "transfer-encoding", "sec-websocket-key",
    "sec-websocket-version", "sec-websocket-protocol", "sec-websocket-extensions", "sec-websocket-accept",
  ]

  /// Returns the subprotocol of an answer whose `Sec-WebSocket-Accept` is valid; empty for none.
  ///
  /// - Throws: ``WebSocketError/badHandshake(url:reason:)``.
  func agreedProtocol(_ answer: HTTPResponseHead) throws -> String {
    // RFC 6455 §4.1: an extension or a subprotocol that was not asked for fails the connection.
    guard answer.headers["Sec-WebSocket-Extensions"].isEmpty else {
      throw WebSocketError.badHandshake(url: address.url, reason: "it names an extension that was not asked for")
    }
    let chosen = answer.headers["Sec-WebSocket-Protocol"]
    guard let name = chosen.first else { return "" }
    guard chosen.count == 1, protocols.contains(name) else {
      throw WebSocketError.badHandshake(
        url: address.url, reason: "it names the subprotocol \(chosen.joined(separator: ", ")), which was not asked for")
    }
    return name
  }
}

extension HTTPField {
  /// RFC 9110 §5.6.2.
  fileprivate static func isToken(_ text: String) -> Bool { HTTPField.Name(text) != nil }
}
