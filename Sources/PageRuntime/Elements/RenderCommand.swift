import ScriptEngine

/// What a page's script does to its element tree, in the order in which it does it.
public enum RenderCommand: Hashable, Sendable {
  case createBody(ElementDescription)
  /// `index` among the children; nil for the end.
  case addElement(parent: String, ElementDescription, index: Int?)
  case removeElement(String)
  /// `index` among the children while the element is still where it was, as frameworks count; nil for the end.
  case moveElement(String, parent: String, index: Int?)
  case updateAttributes(String, [String: ScriptValue])
  case updateStyle(String, [String: ScriptValue])
  case addEvent(String, type: String)
  case removeEvent(String, type: String)
  case createFinish
  case updateFinish
  case refreshFinish
}

/// An element with all below it, as a script describes it.
public struct ElementDescription: Hashable, Sendable {
  public let ref: String
  public let type: String
  public let attributes: [String: ScriptValue]
  public let style: [String: ScriptValue]
  /// Types of the events it listens to.
  public let events: Set<String>
  public let children: [ElementDescription]

  init(
    ref: String, type: String, attributes: [String: ScriptValue] = [:], style: [String: ScriptValue] = [:],
    events: Set<String> = [], children: [ElementDescription] = []
  ) {
    self.ref = ref
    self.type = type
    self.attributes = attributes
    self.style = style
    self.events = events
    self.children = children
  }

  /// Nil for what is no element.
  init?(_ value: ScriptValue) {
    guard let ref = value["ref"].reference, let type = value["type"].string else { return nil }
    var children: [ElementDescription] = []
    for child in value["children"].array ?? [] {
      guard let child = ElementDescription(child) else { return nil }
      children.append(child)
    }
    self.init(
      ref: ref, type: type, attributes: value["attr"].object ?? [:], style: value["style"].object ?? [:],
      events: Set((value["event"].array ?? []).compactMap { $0.string ?? $0["type"].string }), children: children)
  }
}

extension ScriptValue {
  /// A ref, or another id, which frameworks write as text or as a number.
  var reference: String? { string ?? int.map(String.init) }
}
