import ScriptEngine

/// `globalEvent`: what the app tells all its pages.
enum GlobalEventModule {
  static func register(_ table: inout ModuleTable) {
    table.add(
      "globalEvent", "addEventListener",
      .deferred { call, page in
        guard let type = call[0].string, let callback = call.callback(at: 1) else { return }
        page.globalListeners[type, default: []].append(callback)
      })
    table.add(
      "globalEvent", "removeEventListener",
      .deferred { call, page in
        if let type = call[0].string { page.globalListeners[type] = nil }
      })
  }
}

extension PageInstance {
  /// Tells the page's listeners of an event of the app's.
  public func fireGlobalEvent(_ type: String, _ event: ScriptValue = [:]) async throws {
    for callback in globalListeners[type] ?? [] { try await self.callback(callback, event, keepAlive: true) }
  }
}
