import ScriptEngine

extension PageInstance {
  /// Fires an event on an element. While a snapshot is shown, the event waits for the script's elements, and is dropped if
  /// the element is not among them.
  ///
  /// - Parameters:
  ///   - ref: the element's ref in ``tree``.
  ///   - type: the event's type, such as `click`.
  ///   - event: further members of the event object.
  ///   - changes: changes of the element that the script is to know of, such as `{attrs: {value: "a"}}`.
  /// - Throws: ``ScriptError/closed`` if the page has no script.
  public func fireEvent(
    _ ref: String, _ type: String, _ event: ScriptValue = [:], changes: ScriptValue = .undefined
  ) async throws {
    guard let ref = await liveRef(of: ref) else { return }
    let target = tree.eventTarget(ref, type)
    // The framework knows the arguments of an element's own events.
    let options: [ScriptValue] = target.ref == ref ? [] : [["params": target.arguments ?? .undefined]]
    try await call("fireEvent", [.string(target.ref), .string(type), event, changes] + options)
    if timings.interaction == nil { timings.interaction = .now - began }
  }

  /// Calls a callback of the script.
  ///
  /// - Parameters:
  ///   - id: the id from ``ModuleCall/callback(at:)``.
  ///   - value: the callback's argument.
  ///   - keepAlive: `true` if the callback will be called again; otherwise the framework frees it.
  /// - Throws: ``ScriptError/closed`` if the page has no script.
  public func callback(_ id: String, _ value: ScriptValue, keepAlive: Bool = false) async throws {
    try await callback(id, value, keepAlive: keepAlive) {}
  }

  func callback(
    _ id: String, _ value: ScriptValue, keepAlive: Bool, atEnd: @escaping @PageActor () -> Void
  ) async throws {
    try await call("callback", [.string(id), value, .bool(keepAlive)], atEnd: atEnd)
  }

  /// The largest number of messages of channels that wait for a page's script.
  private static let waitingMessageLimit = 1_000

  /// Delivers a message of another page's `BroadcastChannel`. It is dropped if too many wait.
  func receive(_ message: ScriptValue, from channel: String) async {
    guard group != nil else { return }
    guard waitingMessages < Self.waitingMessageLimit else {
      guard !dropsMessages else { return }
      dropsMessages = true
      return report(
        ScriptException(
          message: "messages of the channel \(channel) are dropped: \(Self.waitingMessageLimit) wait for the page"))
    }
    dropsMessages = false
    waitingMessages += 1
    defer { waitingMessages -= 1 }
    let id = id
    try? await enter { try await $0.deliver(id, message, to: channel) }
  }

  /// Replaces the page's data, and lets the script render it.
  ///
  /// - Throws: ``ScriptError/closed`` if the page has no script.
  public func refresh(data: ScriptValue) async throws {
    let id = id
    try await enter { try await $0.refresh(id, data) }
  }

  private func call(
    _ method: String, _ arguments: [ScriptValue], atEnd: @escaping @PageActor () -> Void = {}
  ) async throws {
    let id = id
    try await enter({ try await $0.call(id, [["method": .string(method), "args": .array(arguments)]]) }, atEnd: atEnd)
  }
}
