import ScriptEngine

extension PageInstance {
  /// Tells the script that something happened to an element.
  ///
  /// - Parameter changes: to the element's attributes, which the script is to know of (`attrs`, `style`).
  public func fireEvent(
    _ ref: String, _ type: String, _ event: ScriptValue = [:], changes: ScriptValue = .undefined
  ) async throws {
    try await call("fireEvent", [.string(ref), .string(type), event, changes])
    if timings.interaction == nil { timings.interaction = .now - began }
  }

  /// Answers a script's callback.
  ///
  /// - Parameter keepAlive: it will be answered again.
  public func callback(_ id: String, _ value: ScriptValue, keepAlive: Bool = false) async throws {
    try await call("callback", [.string(id), value, .bool(keepAlive)])
  }

  /// Gives the page other data.
  public func refresh(data: ScriptValue) async throws {
    let id = id
    try await enter { try await $0.refresh(id, data) }
  }

  private func call(_ method: String, _ arguments: [ScriptValue]) async throws {
    let id = id
    try await enter { try await $0.call(id, [["method": .string(method), "args": .array(arguments)]]) }
  }
}
