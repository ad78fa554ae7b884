import Foundation
import HTTPTransport
import ScriptEngine
import Synchronization

/// The web socket of a page: what its script sends, and what it is told.
@PageActor final class PageSocket {
  /// What a script can hear of.
  enum EventKind: String, CaseIterable {
    case open = "onOpen"
    case message = "onMessage"
    case error = "onError"
    case close = "onClose"
  }

  /// Bytes that may wait to be sent.
  private static let limit = 16 << 20

  private weak var page: PageInstance?
  private let outbox = SocketOutbox(limit: PageSocket.limit)
  private var listeners: [EventKind: String] = [:]
  private var work: Task<Void, Never>?

  init(_ request: WebSocketRequest, of page: PageInstance) {
    self.page = page
    let (sockets, outbox) = (page.registry.handlers.sockets, outbox)
    work = Task { [weak self] in
      await sockets.run(request, commands: outbox.commands) { [weak self] event in await self?.receive(event) }
      outbox.finish()
    }
  }

  func listen(for occasion: EventKind, _ callback: String) { listeners[occasion] = callback }

  /// - Throws: where more is waiting than may.
  func send(_ message: WebSocketMessage) throws {
    guard outbox.add(.send(message), bytes: message.count) else {
      cancel()
      throw ScriptError.engine("more than \(Self.limit) bytes wait to be sent: the web socket was closed")
    }
  }

  /// - Throws: for a code or a reason that may not be sent.
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

  /// Ends the connection; nobody hears of it any more.
  func cancel() {
    listeners = [:]
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
    guard let callback = listeners[occasion] else { return }
    try? await page?.callback(callback, value, keepAlive: true)
  }
}

extension WebSocketMessage {
  /// Frameworks make an `ArrayBuffer` of what is binary.
  fileprivate var scriptValue: ScriptValue {
    switch self {
    case .text(let text): .string(text)
    case .binary(let bytes):
      ["@type": "binary", "dataType": "ArrayBuffer", "base64": .string(Data(bytes).base64EncodedString())]
    }
  }

  /// Nil for what is neither text nor binary.
  init?(_ value: ScriptValue) {
    if case .data(let bytes) = value {
      self = .binary(bytes)
    } else if value["@type"] == "binary", let text = value["base64"].string, let bytes = Base64.decode(text) {
      self = .binary(bytes)
    } else if let text = value.plainText {
      self = .text(text)
    } else if case .object = value {
      // As the SDK has it.
      self = .text(value.jsonText)
    } else if case .array = value {
      self = .text(value.jsonText)
    } else {
      return nil
    }
  }
}
