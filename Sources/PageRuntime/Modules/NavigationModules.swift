import HTTPTransport
import ScriptEngine

/// `navigator`, and `event` with `openURL`: going from page to page.
enum NavigationModules {
  static func register(_ table: inout ModuleTable) {
    table.add("navigator", "push", .deferred { call, page in try await push(call, call[0]["url"], page) })
    table.add(
      "navigator", "pop",
      .deferred { call, page in
        try await answering(call, page) { try await page.registry.handlers.navigator.pop(options: call[0], from: page) }
      })
    table.add("event", "openURL", .deferred { call, page in try await push(call, call[0], page) })
  }

  @PageActor private static func push(_ call: ModuleCall, _ target: ScriptValue, _ page: PageInstance) async throws {
    try await answering(call, page) {
      guard let text = target.string, let url = page.resolve(text) else {
        throw PageError.invalidURL(target.plainText ?? "")
      }
      try await page.registry.handlers.navigator.push(url, options: call[0], from: page)
    }
  }

  @PageActor private static func answering(
    _ call: ModuleCall, _ page: PageInstance, _ body: @PageActor () async throws -> Void
  ) async throws {
    var answer: ScriptValue = "WX_SUCCESS"
    do {
      try await body()
    } catch {
      answer = ["result": "WX_FAILED", "message": .string("\(error)")]
    }
    if let callback = call.callback(at: 1) { try await page.callback(callback, answer) }
  }
}
