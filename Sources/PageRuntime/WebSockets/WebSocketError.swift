/// An error of opening or running a web socket.
package enum WebSocketError: Error, Hashable, Sendable, CustomStringConvertible {
  case invalidURL(String)
  case invalidProtocol(String)
  case unreachable(url: String, reason: String)
  /// The server answers the opening request with another status than 101.
  case refused(url: String, status: Int)
  case badHandshake(url: String, reason: String)
  case timedOut(url: String, limit: Duration)
  /// The server violates the protocol.
  case broken(url: String, reason: String)
  case tooLarge(url: String, limit: Int)
  /// The connection ended without a close.
  case lost(url: String)

  package var description: String {
    switch self {
    case .invalidURL(let text):
      "\"\(text.prefix(200))\" is not the URL of a web socket: ws:// or wss:// without a fragment or a user is expected"
    case .invalidProtocol(let name):
      "\"\(name.prefix(200))\" cannot be a subprotocol: it is not a token, or is named twice"
    case .unreachable(let url, let reason): "\(url): no connection: \(reason)"
    case .refused(let url, let status): "\(url): the server answers \(status) where 101 opens a web socket"
    case .badHandshake(let url, let reason): "\(url): the server's answer opens no web socket: \(reason)"
    case .timedOut(let url, let limit): "\(url): the web socket was not open after \(limit)"
    case .broken(let url, let reason): "\(url): the server violates the protocol: \(reason)"
    case .tooLarge(let url, let limit): "\(url): the message has more than the limit of \(limit) bytes"
    case .lost(let url): "\(url): the connection ended without being closed"
    }
  }
}
