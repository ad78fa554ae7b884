/// Why a web socket cannot be opened, or had to be closed.
enum WebSocketError: Error, Hashable, Sendable, CustomStringConvertible {
  case invalidURL(String)
  case invalidProtocol(String)
  case unreachable(url: String, reason: String)
  /// The server answers the opening request with something else than 101.
  case refused(url: String, status: Int)
  case badHandshake(url: String, reason: String)
  case timedOut(url: String, limit: Duration)
  /// The server breaks the protocol's rules.
  case broken(url: String, reason: String)
  case tooLarge(url: String, limit: Int)
  /// The connection ended without a word.
  case lost(url: String)

  var description: String {
    switch self {
    case .invalidURL(let text):
      "\"\(text.prefix(200))\" is no URL of a web socket: it must be ws:// or wss://, without a fragment or a user"
    case .invalidProtocol(let name): "\"\(name.prefix(200))\" is no name of a subprotocol, or is there twice"
    case .unreachable(let url, let reason): "\(url): no connection: \(reason)"
    case .refused(let url, let status): "\(url): the server answers \(status) where 101 opens a web socket"
    case .badHandshake(let url, let reason): "\(url): the server's answer opens no web socket: \(reason)"
    case .timedOut(let url, let limit): "\(url): the web socket was not open after \(limit)"
    case .broken(let url, let reason): "\(url): the server breaks the protocol: \(reason)"
    case .tooLarge(let url, let limit): "\(url): the message has more than the limit of \(limit) bytes"
    case .lost(let url): "\(url): the connection ended without being closed"
    }
  }
}
