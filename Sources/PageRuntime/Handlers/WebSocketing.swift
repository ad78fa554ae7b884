import HTTPTypes

/// Opens web sockets for pages.
public protocol WebSocketing: Sendable {
  /// Connects, sends what the page sends, and returns when all is over. Cancelling the task ends the connection.
  ///
  /// - Parameters:
  ///   - commands: in the order in which the page gave them.
  ///   - receive: told of everything that happens; ``WebSocketEvent/closed(code:reason:wasClean:)`` comes last, and
  ///     always. While it is busy with one event, nothing more need be read.
  func run(
    _ request: WebSocketRequest, commands: AsyncStream<WebSocketCommand>,
    receive: @escaping @Sendable (WebSocketEvent) async -> Void
  ) async
}

/// Where a page wants to connect.
public struct WebSocketRequest: Hashable, Sendable {
  /// As the page wrote it: `ws://…` or `wss://…`.
  public var url: String
  /// Subprotocols, the best first.
  public var protocols: [String]
  /// More fields of the opening request.
  public var fields: HTTPFields
  /// The page's id.
  public var page: String

  public init(url: String, protocols: [String] = [], fields: HTTPFields = [:], page: String = "") {
    self.url = url
    self.protocols = protocols
    self.fields = fields
    self.page = page
  }
}

/// A message, either way.
public enum WebSocketMessage: Hashable, Sendable {
  case text(String)
  case binary([UInt8])

  /// In bytes.
  var count: Int {
    switch self {
    case .text(let text): text.utf8.count
    case .binary(let bytes): bytes.count
    }
  }
}

/// What a page wants of its socket.
public enum WebSocketCommand: Hashable, Sendable {
  case send(WebSocketMessage)
  /// - Parameter code: nil for none.
  case close(code: Int?, reason: String)
}

/// What happens to a page's socket.
public enum WebSocketEvent: Hashable, Sendable {
  /// With the subprotocol that the server chose; empty for none.
  case opened(protocol: String)
  case message(WebSocketMessage)
  /// Why it is not or no longer open, in a sentence.
  case failed(String)
  /// - Parameter wasClean: both sides have said that they close.
  case closed(code: Int, reason: String, wasClean: Bool)
}

/// Connects to nothing, and says so to the script.
package struct NoWebSockets: WebSocketing {
  private let advice: String

  package init() { advice = "" }

  /// - Parameter advice: how to have web sockets, in the words of the program.
  package init(advice: String) { self.advice = advice.isEmpty ? "" : "; \(advice)" }

  package func run(
    _ request: WebSocketRequest, commands: AsyncStream<WebSocketCommand>,
    receive: @escaping @Sendable (WebSocketEvent) async -> Void
  ) async {
    await receive(.failed("this host has no web sockets: \(request.url) was not opened\(advice)"))
    await receive(.closed(code: 1006, reason: "", wasClean: false))
  }
}
