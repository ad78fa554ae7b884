import ScriptEngine

/// `globalEvent`: events of the app.
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
  /// Fires an event of the app, for the page's listeners of the module `globalEvent`.
  ///
  /// - Parameters:
  ///   - type: the event's type, such as `networkChange`.
  ///   - event: the argument of the listeners.
  /// - Throws: ``ScriptError/closed`` if the page has no script.
  public func fireGlobalEvent(_ type: String, _ event: ScriptValue = [:]) async throws {
    for callback in globalListeners[type] ?? [] { try await self.callback(callback, event, keepAlive: true) }
  }
}
