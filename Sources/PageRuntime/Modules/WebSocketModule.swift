import HTTPTransport
import ScriptEngine

/// `webSocket`: one connection for each page, as in the SDK. A new one replaces the one before and has its listeners.
enum WebSocketModule {
  static func register(_ table: inout ModuleTable) {
    table.add(
      "webSocket", "WebSocket",
      .deferred { call, page in
        page.socket?.cancel()
        let names = call[1].array?.compactMap(\.string) ?? call[1].string?.split(separator: ",").map(String.init) ?? []
        let protocols = names.map { $0.filter { $0 != " " } }.filter { !$0.isEmpty }
        let url = page.socketURL(call[0].string ?? "")
        page.socket = PageSocket(WebSocketRequest(url: url, protocols: protocols, page: page.id), of: page)
      })
    table.add(
      "webSocket", "send",
      .deferred { call, page in
        guard let message = WebSocketMessage(call[0]) else {
          throw ScriptError.wrongArgument(index: 0, expected: "text or binary data", found: call[0].kind)
        }
        try page.socket?.send(message)
      })
    table.add(
      "webSocket", "close",
      .deferred { call, page in
        try page.socket?.close(call[0].int ?? call[0].string.flatMap { Int($0) }, call[1].string ?? "")
      })
    for occasion in PageSocket.EventKind.allCases {
      table.add(
        "webSocket", occasion.rawValue,
        .deferred { call, page in
          if let callback = call.callback(at: 0) { page.socketListeners[occasion] = callback }
        })
    }
  }
}

extension PageInstance {
  /// The URL of a reference: `//host/…` takes the page's scheme.
  fileprivate func socketURL(_ reference: String) -> String {
    guard reference.hasPrefix("//") else { return reference }
    return (url?.text.hasPrefix("http:") == true ? "ws:" : "wss:") + reference
  }
}
