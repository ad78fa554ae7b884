import HTTPTransport
import ScriptEngine

/// A change of a page's elements by its script. The changes of ``PageEvent/commands(_:)`` are in order.
public enum RenderCommand: Hashable, Sendable {
  /// Makes the body, with all elements below it.
  case createBody(ElementDescription)
  /// Adds an element to a parent, with all elements below it; `index` is its place among the children, `nil` the end.
  case addElement(parent: String, ElementDescription, index: Int?)
  /// Removes an element and all elements below it.
  case removeElement(String)
  /// Moves an element to a parent. `index` counts the children while the element is still at its old place; `nil` is the
  /// end.
  case moveElement(String, parent: String, index: Int?)
  /// Sets attributes; others stay.
  case updateAttributes(String, [String: ScriptValue])
  /// Sets properties of the style; others stay.
  case updateStyle(String, [String: ScriptValue])
  /// The script listens to events of a type.
  case addEvent(String, type: String)
  /// The script no longer listens to events of a type.
  case removeEvent(String, type: String)
  /// The page is rendered.
  case createFinish
  /// An update is complete.
  case updateFinish
  /// The new data is rendered.
  case refreshFinish

  /// `false` for a command that says something of the page and leaves its elements as they are.
  var changesElements: Bool {
    switch self {
    case .createFinish, .updateFinish, .refreshFinish: false
    default: true
    }
  }

  /// The number of elements that the command adds, without those below a child.
  var insertions: Int {
    switch self {
    case .createBody(let element), .addElement(_, let element, _): 1 + element.children.count
    default: 0
    }
  }
}

extension RenderCommand {
  /// The command as a method of the module `dom` and its arguments.
  package var json: JSONValue {
    func command(_ method: String, _ arguments: JSONValue...) -> JSONValue {
      .object(["method": .string(method), "args": .array(arguments)])
    }
    func index(_ index: Int?) -> JSONValue { .integer(Int64(index ?? -1)) }
    return switch self {
    case .createBody(let element): command("createBody", element.json)
    case .addElement(let parent, let element, let place):
      command("addElement", .string(parent), element.json, index(place))
    case .removeElement(let ref): command("removeElement", .string(ref))
    case .moveElement(let ref, let parent, let place):
      command("moveElement", .string(ref), .string(parent), index(place))
    case .updateAttributes(let ref, let changes):
      command("updateAttrs", .string(ref), ScriptValue.object(changes).json)
    case .updateStyle(let ref, let changes): command("updateStyle", .string(ref), ScriptValue.object(changes).json)
    case .addEvent(let ref, let type): command("addEvent", .string(ref), .string(type))
    case .removeEvent(let ref, let type): command("removeEvent", .string(ref), .string(type))
    case .createFinish: command("createFinish")
    case .updateFinish: command("updateFinish")
    case .refreshFinish: command("refreshFinish")
    }
  }
}

/// An element and all elements below it, as a script describes them.
public struct ElementDescription: Hashable, Sendable {
  /// The id of the element.
  public let ref: String
  /// The component, such as `text`.
  public let type: String
  /// The attributes, by name.
  public let attributes: [String: ScriptValue]
  /// The style, by property as the script wrote it.
  public let style: [String: ScriptValue]
  /// The types of events that the script listens to.
  public let events: Set<String>
  /// The children, in order.
  public let children: [ElementDescription]
  /// The arguments that handlers get before the event, by its type.
  let eventArguments: [String: ScriptValue]

  init(
    ref: String, type: String, attributes: [String: ScriptValue] = [:], style: [String: ScriptValue] = [:],
    events: Set<String> = [], children: [ElementDescription] = [], eventArguments: [String: ScriptValue] = [:]
  ) {
    self.ref = ref
    self.type = type
    self.attributes = attributes
    self.style = style
    self.events = events
    self.children = children
    self.eventArguments = eventArguments
  }

  /// Returns `nil` if the value does not describe an element.
  init?(_ value: ScriptValue) {
    guard let ref = value["ref"].reference, let type = value["type"].string else { return nil }
    var children: [ElementDescription] = []
    for child in value["children"].array ?? [] {
      guard let child = ElementDescription(child) else { return nil }
      children.append(child)
    }
    let events = value["event"].array ?? []
    self.init(
      ref: ref, type: type, attributes: value["attr"].object ?? [:], style: value["style"].object ?? [:],
      events: Set(events.compactMap { $0.string ?? $0["type"].string }), children: children,
      eventArguments: Dictionary(events.compactMap(\.eventArguments)) { $1 })
  }

  /// Reads a description. Returns `nil` if the value does not describe an element.
  ///
  /// - Throws: ``ScriptError/notPlainData(_:)``.
  init?(_ reader: inout JSONTextReader) throws {
    var ref: String?
    var type: String?
    var (attributes, style): ([String: ScriptValue], [String: ScriptValue]) = ([:], [:])
    var events: Set<String> = []
    var eventArguments: [String: ScriptValue] = [:]
    var children: [ElementDescription] = []
    var isValid = true
    try reader.object { reader, name in
      switch name {
      case "ref": ref = try reader.value().reference
      case "type": type = try reader.value().string
      case "attr": try reader.object { reader, name in attributes[name] = try reader.value() }
      case "style": style = try reader.members()
      case "event":
        try reader.array { reader in
          let event = try reader.value()
          if let type = event.string ?? event["type"].string { events.insert(type) }
          if let (type, arguments) = event.eventArguments { eventArguments[type] = arguments }
        }
      case "children":
        try reader.array { reader in
          if let child = try ElementDescription(&reader) { children.append(child) } else { isValid = false }
        }
      default: _ = try reader.value()
      }
    }
    guard isValid, let ref, let type else { return nil }
    self.init(
      ref: ref, type: type, attributes: attributes, style: style, events: events, children: children,
      eventArguments: eventArguments)
  }
}

extension ElementDescription {
  /// The depth was limited when the script's values were read.
  fileprivate var json: JSONValue {
    var members: [String: JSONValue] = [
      "ref": .string(ref), "type": .string(type), "attr": ScriptValue.object(attributes).json,
      "style": ScriptValue.object(style).json,
    ]
    if !events.isEmpty { members["event"] = .array(events.sorted().map { .string($0) }) }
    if !children.isEmpty { members["children"] = .array(children.map(\.json)) }
    return .object(members)
  }
}

extension ScriptValue {
  /// The type and the arguments of an event with arguments: `{"type": "click", "params": [1]}`.
  fileprivate var eventArguments: (String, ScriptValue)? {
    guard let type = self["type"].string, case .array = self["params"] else { return nil }
    return (type, self["params"])
  }

  /// The value as a ref or another id: frameworks write ids as text or as numbers.
  var reference: String? { string ?? int.map(String.init) }
}
