import HTTPTransport
import ScriptEngine

extension PageInstance {
  /// Fires an event on an element. While a snapshot is shown, the event waits for the script's elements.
  ///
  /// A user's change of the element, such as typed text, is in ``tree`` and in the script's element before the script
  /// handles the event:
  ///
  ///     try await page.fireEvent(ref, "input", ["value": "Ann"], changes: ["attrs": ["value": "Ann"]])
  ///
  /// - Parameters:
  ///   - ref: the element's ref in ``tree``.
  ///   - type: the event's type, such as `click`.
  ///   - event: further members of the event object.
  ///   - changes: the user's changes of the element, `attrs` and `style`. Without them, the events of `input`, `textarea`,
  ///     `switch` and sliders change the attribute that devices change: `{value: "Ann"}` of an input its `value`.
  /// - Throws: ``ScriptError/closed`` if the page has no script; ``EventError`` if there is no such element, or if that of
  ///   a snapshot is not among the script's elements.
  public func fireEvent(
    _ ref: String, _ type: String, _ event: ScriptValue = [:], changes: ScriptValue = .undefined
  ) async throws {
    let live = await liveRef(of: ref)
    guard group != nil else { throw ScriptError.closed }
    // An event of a cell that a template made is the template's; its arguments are the cell's.
    let target = live.map { tree.eventTarget($0, type) }
    guard let live, let target, let element = tree[target.ref] else { throw EventError(ref: ref, type: type) }
    let isOwn = target.ref == live
    let changes = isOwn && changes.isNothing ? element.changes(by: type, event) : changes
    var commands: [RenderCommand] = []
    if isOwn {
      if let attributes = changes["attrs"].object { commands.append(.updateAttributes(live, attributes)) }
      if let style = changes["style"].object { commands.append(.updateStyle(live, style)) }
    }
    apply(commands)
    var event = event
    if let component = target.component, let members = event.object {
      event = .object(members.merging(["componentId": .string(component)]) { $1 })
    }
    // The framework knows the arguments of an element's own events.
    let options: [ScriptValue] = isOwn ? [] : [["params": target.arguments ?? .undefined]]
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
    try await callback(id, value, keepAlive: keepAlive, json: nil)
  }

  /// - Parameter json: a member that the argument, an object, gets too, as JSON: the script sees its members in their
  ///   order. A text that is not JSON stays text.
  func callback(
    _ id: String, _ value: ScriptValue, keepAlive: Bool, json: (name: String, text: String)? = nil,
    atEnd: @escaping @PageActor () -> Void = {}
  ) async throws {
    try await call("callback", [.string(id), value, .bool(keepAlive)], json: json, atEnd: atEnd)
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

  func call(
    _ method: String, _ arguments: [ScriptValue], json: (name: String, text: String)? = nil,
    atEnd: @escaping @PageActor () -> Void = {}
  ) async throws {
    let id = id
    let task: ScriptValue = ["method": .string(method), "args": .array(arguments)]
    try await enter({ try await $0.call(id, [task], json: json) }, atEnd: atEnd)
  }
}

/// The error of an event for an element that the page does not have.
public struct EventError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The ref of the event's element.
  public let ref: String
  /// The event's type.
  public let type: String

  public var description: String {
    "there is no element \(ref.quotedForMessage) for the event \(type.quotedForMessage)"
  }
}

extension ElementTree.Element {
  /// The attribute that a device has changed when it fires an event of the user; `undefined` for other events.
  fileprivate func changes(by event: String, _ details: ScriptValue) -> ScriptValue {
    let (attribute, member): (String, String)
    switch (type, event) {
    case ("input", "input"), ("input", "change"), ("input", "return"), ("textarea", "input"), ("textarea", "change"),
      ("textarea", "return"):
      (attribute, member) = ("value", "value")
    case ("switch", "change"): (attribute, member) = ("checked", "value")
    case ("slider", "change"), ("cycleslider", "change"), ("slider-neighbor", "change"):
      (attribute, member) = ("index", "index")
    default: return .undefined
    }
    return details[member] == .undefined ? .undefined : ["attrs": [attribute: details[member]]]
  }
}
