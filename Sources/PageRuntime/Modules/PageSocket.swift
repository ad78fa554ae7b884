import Foundation
import HTTPTransport
import ScriptEngine
import Synchronization

/// The web socket of a page: sends the script's messages, and calls its listeners.
@PageActor final class PageSocket {
  /// The events that a script can listen to, by the names of the methods that take its callbacks.
  enum EventKind: String, CaseIterable {
    case open = "onopen"
    case message = "onmessage"
    case error = "onerror"
    case close = "onclose"
  }

  /// The number of bytes that may wait to be sent.
  private static let limit = 16 << 20

  private weak var page: PageInstance?
  private let outbox = SocketOutbox(limit: PageSocket.limit)
  private var work: Task<Void, Never>?

  init(_ request: WebSocketRequest, of page: PageInstance) {
    self.page = page
    let (sockets, outbox) = (page.registry.handlers.sockets, outbox)
    work = Task { [weak self] in
      await sockets.run(request, commands: outbox.commands) { [weak self] event in await self?.receive(event) }
      outbox.finish()
    }
  }

  /// - Throws: ``ScriptError`` if more than the limit waits; the web socket is then closed.
  func send(_ message: WebSocketMessage) throws {
    guard outbox.add(.send(message), bytes: message.count) else {
      cancel()
      throw ScriptError.engine("more than \(Self.limit) bytes wait to be sent: the web socket is closed")
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
    _ = outbox.add(.close(code: code ?? (reason.isEmpty ? nil : 1000), reason: reason), bytes: 0)
  }

  /// Ends the connection. Listeners are no longer called.
  func cancel() {
    page = nil
    work?.cancel()
    outbox.finish()
  }

  /// Waits for the end of the connection.
  func ended() async { await work?.value }

  private func receive(_ event: WebSocketEvent) async {
    switch event {
    case .opened: await tell(.open, [:])
    case .message(let message): await tell(.message, ["data": message.scriptValue])
    case .failed(let reason): await tell(.error, ["data": .string(reason)])
    case .closed(let code, let reason, let wasClean):
      await tell(
        .close, ["code": .number(Double(code)), "reason": .string(reason), "wasClean": .bool(wasClean)])
    }
  }

  private func tell(_ occasion: EventKind, _ value: ScriptValue) async {
    guard let page, let callback = page.socketListeners[occasion] else { return }
    try? await page.callback(callback, value, keepAlive: true)
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
