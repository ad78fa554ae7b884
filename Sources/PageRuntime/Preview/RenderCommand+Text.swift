import ScriptEngine

extension RenderCommand: CustomStringConvertible {
  /// The command in one line.
  public var description: String {
    switch self {
    case .createBody(let element): "createBody \(element.outlineText)"
    case .addElement(let parent, let element, let index):
      "addElement \(element.outlineText) in #\(parent)\(index.map { " at \($0)" } ?? "")"
    case .removeElement(let ref): "removeElement #\(ref)"
    case .moveElement(let ref, let parent, let index):
      "moveElement #\(ref) to #\(parent)\(index.map { " at \($0)" } ?? "")"
    case .updateAttributes(let ref, let changes): "updateAttrs #\(ref)\(changes.outlineText)"
    case .updateStyle(let ref, let changes): "updateStyle #\(ref)\(changes.outlineText)"
    case .addEvent(let ref, let type): "addEvent #\(ref) \(type)"
    case .removeEvent(let ref, let type): "removeEvent #\(ref) \(type)"
    case .createFinish: "createFinish"
    case .updateFinish: "updateFinish"
    case .refreshFinish: "refreshFinish"
    }
  }
}

extension ElementDescription {
  /// The element without its style, with the number of elements below it.
  fileprivate var outlineText: String {
    let events = events.isEmpty ? "" : " @" + events.sorted().joined(separator: ",")
    let below = elementsBelow
    return "\(type) #\(ref)\(attributes.outlineText)\(events)\(below == 0 ? "" : " (and \(below) below it)")"
  }

  private var elementsBelow: Int {
    var count = 0
    var waiting = children
    while let next = waiting.popLast() {
      count += 1
      waiting += next.children
    }
    return count
  }
}

extension [String: ScriptValue] {
  /// ` name="value"` for each member with a value, by name.
  var outlineText: String {
    sorted { $0.key < $1.key }.compactMap { name, value in
      value.isNothing ? nil : " \(name)=\(value.outlineText)"
    }.joined()
  }
}

extension [String: ScriptValue] {
  /// ` {color: red; fontSize: 32}`, by name; empty where no style has a value.
  var styleText: String {
    let styles = sorted { $0.key < $1.key }.compactMap { name, value in
      value.isNothing ? nil : "\(name): \((value.plainText ?? value.jsonText).oneLine)"
    }
    return styles.isEmpty ? "" : " {\(styles.joined(separator: "; "))}"
  }
}

extension String {
  /// The text in one line, clipped at 60 characters.
  fileprivate var oneLine: String {
    (count > 60 ? prefix(59) + "…" : self).replacing("\n", with: "⏎")
  }
}

extension ScriptValue {
  /// The value in quotes, in one line, clipped at 60 characters.
  var outlineText: String {
    "\"\((plainText ?? jsonText).oneLine)\""
  }
}
