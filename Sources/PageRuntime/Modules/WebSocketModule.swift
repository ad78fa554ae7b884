import Foundation
import HTTPTransport
import HTTPTypes
import ScriptEngine

extension ModuleTable {
  /// `webSocket`: one connection for each page, as in the SDK. A new one replaces the one before and has its listeners.
  static let webSocket: [String: ModuleMethod] = [
    "WebSocket": .deferred { call, page in
      page.socket?.cancel()
      let names = call[1].array?.compactMap(\.string) ?? call[1].string?.split(separator: ",").map(String.init) ?? []
      let protocols = names.map { $0.filter { $0 != " " } }.filter { !$0.isEmpty }
      let url = page.socketURL(call[0].string ?? "")
      page.socket = PageSocket(WebSocketRequest(url: url, protocols: protocols, page: page.id), of: page)
    },
    "send": .deferred { call, page in
      guard let message = WebSocketMessage(call[0]) else {
        throw ScriptError.wrongArgument(index: 0, expected: "text or binary data", found: call[0].kind)
      }
      try page.socket?.send(message)
    },
    "close": .deferred { call, page in
      try page.socket?.close(call[0].int ?? call[0].string.flatMap { Int($0) }, call[1].string ?? "")
    },
    "onopen": listening, "onmessage": listening, "onerror": listening, "onclose": listening,
  ]

  /// Takes the script's callback for the event of the method's name.
  private static let listening = ModuleMethod.deferred { call, page in
    if let callback = call.callback(at: 0) { page.socketListeners[call.method] = callback }
  }
}

extension PageInstance {
  /// The URL of a reference: `//host/…` takes the page's scheme.
  fileprivate func socketURL(_ reference: String) -> String {
    guard reference.hasPrefix("//") else { return reference }
    return (url?.text.hasPrefix("http:") == true ? "ws:" : "wss:") + reference
  }
}

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

  /// - Parameter advice: tells how to enable web sockets, in terms of the program; may be empty.
  package init(advice: String) { self.advice = advice.isEmpty ? "" : "; \(advice)" }

  package func run(
    _ request: WebSocketRequest, commands: AsyncStream<WebSocketCommand>,
    receive: @escaping @Sendable (WebSocketEvent) async -> Void
  ) async {
    await receive(.failed("this host has no web sockets: \(request.url) was not opened\(advice)"))
    await receive(.closed(code: 1006, reason: "", wasClean: false))
  }
}

/// The web socket of a page: sends the script's messages, and calls its listeners.
@PageActor final class PageSocket {
  private weak var page: PageInstance?
  private var work: Task<Void, Never>?
  /// The commands that the connection has not asked for yet.
  private var waiting: [(command: WebSocketCommand, bytes: Int)] = []
  private var waitingBytes = 0
  private let byteLimit: Int
  /// The connection, while it waits for a command.
  private var reader: CheckedContinuation<WebSocketCommand?, Never>?
  private var hasEnded = false

  /// - Parameter byteLimit: the number of bytes that may wait to be sent.
  init(_ request: WebSocketRequest, of page: PageInstance, byteLimit: Int = 16 << 20) {
    self.page = page
    self.byteLimit = byteLimit
    let sockets = page.registry.handlers.sockets
    let commands = AsyncStream<WebSocketCommand> { [weak self] in
      await self?.nextCommand() ?? nil
    } onCancel: { [weak self] in
      Task { @PageActor in self?.finish() }
    }
    work = Task { [weak self] in
      await sockets.run(request, commands: commands) { [weak self] event in await self?.receive(event) }
      self?.finish()
    }
  }

  /// - Throws: ``ScriptError`` if more than the limit waits; the web socket is then closed.
  func send(_ message: WebSocketMessage) throws {
    guard add(.send(message), bytes: message.count) else {
      cancel()
      throw ScriptError.engine("more than \(byteLimit) bytes wait to be sent: the web socket is closed")
    }
  }

  /// - Throws: ``ScriptError`` for a code or a reason that may not be sent.
  func close(_ code: Int?, _ reason: String) throws {
    // RFC 6455 §7.4.2: the other codes are not the page's to give.
    guard code.map({ $0 == 1000 || (3000...4999).contains($0) }) ?? true else {
      throw ScriptError.engine("a web socket may be closed with 1000, or 3000 to 4999, not with \(code ?? 0)")
    }
    // RFC 6455 §5.5: 125 bytes, of which the code takes two.
    guard reason.utf8.count <= 123 else {
      throw ScriptError.engine("the reason for closing a web socket has more than 123 bytes")
    }
    _ = add(.close(code: code ?? (reason.isEmpty ? nil : 1000), reason: reason), bytes: 0)
  }

  /// Ends the connection. Listeners are no longer called.
  func cancel() {
    page = nil
    work?.cancel()
    finish()
  }

  /// Waits for the end of the connection.
  func ended() async { await work?.value }

  private func receive(_ event: WebSocketEvent) async {
    switch event {
    case .opened: await tell("onopen", [:])
    case .message(let message): await tell("onmessage", ["data": message.scriptValue])
    case .failed(let reason): await tell("onerror", ["data": .string(reason)])
    case .closed(let code, let reason, let wasClean):
      await tell(
        "onclose", ["code": .number(Double(code)), "reason": .string(reason), "wasClean": .bool(wasClean)])
    }
  }

  private func tell(_ event: String, _ value: ScriptValue) async {
    guard let page, let callback = page.socketListeners[event] else { return }
    try? await page.callback(callback, value, keepAlive: true)
  }

  // MARK: Commands that wait

  /// - Returns: `false` if more than the limit would wait.
  private func add(_ command: WebSocketCommand, bytes: Int) -> Bool {
    if hasEnded { return true }
    if let reader {
      self.reader = nil
      reader.resume(returning: command)
      return true
    }
    guard waitingBytes + bytes <= byteLimit, waiting.count < 100_000 else { return false }
    waiting.append((command, bytes))
    waitingBytes += bytes
    return true
  }

  /// Drops the waiting commands, and ends the connection's stream of them.
  private func finish() {
    hasEnded = true
    (waiting, waitingBytes) = ([], 0)
    reader?.resume(returning: nil)
    reader = nil
  }

  private func nextCommand() async -> WebSocketCommand? {
    if hasEnded { return nil }
    guard !waiting.isEmpty else { return await withCheckedContinuation { reader = $0 } }
    let first = waiting.removeFirst()
    waitingBytes -= first.bytes
    return first.command
  }
}

extension WebSocketMessage {
  /// The message for scripts: frameworks make an `ArrayBuffer` of a binary one.
  fileprivate var scriptValue: ScriptValue {
    switch self {
    case .text(let text): .string(text)
    case .binary(let bytes):
      ["@type": "binary", "dataType": "ArrayBuffer", "base64": .string(Data(bytes).base64EncodedString())]
    }
  }

  /// Returns `nil` if the value is neither text, binary data, an object nor an array.
  init?(_ value: ScriptValue) {
    if let bytes = value.bytes {
      self = .binary(bytes)
    } else if let text = value.plainText {
      self = .text(text)
    } else if case .object = value {
      // The SDK sends objects as JSON.
      self = .text(value.jsonText)
    } else if case .array = value {
      self = .text(value.jsonText)
    } else {
      return nil
    }
  }
}

extension ScriptValue {
  /// The bytes of binary data, also as frameworks describe it; `nil` for other values.
  var bytes: [UInt8]? {
    if case .data(let bytes) = self { return bytes }
    return self["@type"] == "binary" ? self["base64"].string.flatMap { [UInt8](base64: $0) } : nil
  }
}
