import HTTPTypes

/// Opens web sockets for pages.
public protocol WebSocketing: Sendable {
  /// Connects, sends the page's messages, and returns when the connection has ended. Cancelling the task ends it.
  ///
  /// - Parameters:
  ///   - request: the address and the opening request's fields.
  ///   - commands: the page's messages and its close, in order.
  ///   - receive: gets every event. ``WebSocketEvent/closed(code:reason:wasClean:)`` is always the last. While it works on
  ///     an event, no more need be read from the server.
  func run(
    _ request: WebSocketRequest, commands: AsyncStream<WebSocketCommand>,
    receive: @escaping @Sendable (WebSocketEvent) async -> Void
  ) async
}

/// The address that a page connects to, and the opening request. RFC 6455 §4.1.
public struct WebSocketRequest: Hashable, Sendable {
  /// The URL as the page wrote it: `ws://…` or `wss://…`.
  public var url: String
  /// The subprotocols, in the page's order of preference.
  public var protocols: [String]
  /// Further fields of the opening request.
  public var fields: HTTPFields
  /// The page's id.
  public var page: String

  package init(url: String, protocols: [String] = [], fields: HTTPFields = [:], page: String = "") {
    self.url = url
    self.protocols = protocols
    self.fields = fields
    self.page = page
  }
}

/// A message of a web socket, in either direction.
public enum WebSocketMessage: Hashable, Sendable {
  /// A text message.
  case text(String)
  /// A binary message.
  case binary([UInt8])

  /// The length in bytes.
  var count: Int {
    switch self {
    case .text(let text): text.utf8.count
    case .binary(let bytes): bytes.count
    }
  }
}

/// A page's command to its web socket.
public enum WebSocketCommand: Hashable, Sendable {
  /// Sends a message.
  case send(WebSocketMessage)
  /// Closes the connection: 1000 or 3000 to 4999 and a reason of at most 123 bytes; `nil` for a close without a code.
  /// RFC 6455 §7.4.
  case close(code: Int?, reason: String)
}

/// An event of a page's web socket.
public enum WebSocketEvent: Hashable, Sendable {
  /// The connection is open, with the subprotocol that the server chose; empty for none.
  case opened(protocol: String)
  /// A message has come.
  case message(WebSocketMessage)
  /// The connection failed, with the reason as a sentence.
  case failed(String)
  /// The connection has ended. It was clean if both sides sent a close. Code 1006 stands for a connection that was lost or
  /// never open. RFC 6455 §7.1.5.
  case closed(code: Int, reason: String, wasClean: Bool)
}

/// Refuses every connection, with a reason for the script.
package struct NoWebSockets: WebSocketing {
  private let advice: String

  package init() { advice = "" }

  /// - Parameter advice: tells how to enable web sockets, in terms of the program.
  package init(advice: String) { self.advice = advice.isEmpty ? "" : "; \(advice)" }

  package func run(
    _ request: WebSocketRequest, commands: AsyncStream<WebSocketCommand>,
    receive: @escaping @Sendable (WebSocketEvent) async -> Void
  ) async {
    await receive(.failed("this host has no web sockets: \(request.url) was not opened\(advice)"))
    await receive(.closed(code: 1006, reason: "", wasClean: false))
  }
}
