import PageRuntime
import ScriptEngine

// Values of a page in the form of the Chrome DevTools Protocol.

extension ScriptException {
  /// The exception of an answer of a page.
  init(_ value: ScriptValue) {
    self.init(
      message: value["message"].string ?? "an object was thrown", url: value["url"].string, line: value["line"].int,
      column: value["column"].int, stack: value["stack"].string)
  }

  /// The error as an object, whose description has the calls as V8 writes them: the frontend maps these to sources.
  var remoteObject: ScriptValue {
    let name = message.prefix { $0 != ":" }
    let isName = name.hasSuffix("Error") && name.allSatisfy { $0.isLetter || $0.isNumber }
    return [
      "type": "object", "subtype": "error", "className": .string(isName ? String(name) : "Error"),
      "description": .string(message + (Self.calls(in: stack ?? "") ?? place)),
    ]
  }

  private var place: String {
    guard let url, let line else { return "" }
    return "\n    at \(url):\(line):\(column ?? 1)"
  }

  /// The lines of a stack as V8 writes them, each after a line's end: `    at name (url:line:column)`.
  ///
  /// - Returns: `nil` if no line names a place.
  static func calls(in stack: String) -> String? {
    let calls = stack.split(separator: "\n").prefix(100).compactMap { call(in: $0) }.map { call in
      let place = "\(call.url):\(call.line):\(call.column)"
      return call.name.flatMap { $0.isEmpty ? nil : "\n    at \($0) (\(place))" } ?? "\n    at \(place)"
    }
    return calls.isEmpty ? nil : calls.joined()
  }

  /// - Parameters:
  ///   - url: the page's script.
  ///   - scriptID: its id for the debugger.
  func callFrames(of url: String, scriptID: String) -> [ScriptValue] {
    (stack ?? "").split(separator: "\n").prefix(100).compactMap { Self.call(in: $0) }.map { call in
      [
        "functionName": .string(call.name ?? ""), "scriptId": .string(call.url == url ? scriptID : "0"),
        "url": .string(call.url), "lineNumber": .number(Double(call.line) - 1),
        "columnNumber": .number(Double(call.column) - 1),
      ]
    }
  }
}

extension ScriptValue {
  /// The value with the stack of each error in the description, as V8 has it.
  var withCallsOfErrors: ScriptValue {
    switch self {
    case .array(let values): return .array(values.map(\.withCallsOfErrors))
    case .object(var members):
      // The JSON of a value, which the debugger has asked for, stays as it is.
      let value = members["type"] == "object" ? members.removeValue(forKey: "value") : nil
      members = members.mapValues(\.withCallsOfErrors)
      if let value { members["value"] = value }
      guard members["subtype"] == "error", let stack = members.removeValue(forKey: "stack")?.string else {
        return .object(members)
      }
      let description = members["description"]?.string ?? "Error"
      members["description"] = .string(description + (ScriptException.calls(in: stack) ?? ""))
      return .object(members)
    default: return self
    }
  }
}

extension InspectedBox {
  /// The box of an answer of a page; `nil` if it has none.
  init?(_ value: ScriptValue) {
    let sides = [value["border"], value["padding"]].map { $0.array?.compactMap(\.number) ?? [] }
    guard let x = value["x"].number, let y = value["y"].number, let width = value["width"].number,
      let height = value["height"].number, sides.allSatisfy({ $0.count == 4 })
    else { return nil }
    self.init(x: x, y: y, width: width, height: height, border: sides[0], padding: sides[1])
  }

  /// The model of the domain `DOM`. The layout has no margins: they are that of the border box.
  var model: ScriptValue {
    let inner = inset(by: border)
    let content = inner.inset(by: padding)
    return [
      "content": content.quad, "padding": inner.quad, "border": quad, "margin": quad,
      "width": .number(width.rounded()), "height": .number(height.rounded()),
    ]
  }

  private var quad: ScriptValue {
    .array([x, y, x + width, y, x + width, y + height, x, y + height].map { .number($0) })
  }

  private func inset(by sides: [Double]) -> InspectedBox {
    InspectedBox(
      x: x + sides[3], y: y + sides[0], width: max(width - sides[1] - sides[3], 0),
      height: max(height - sides[0] - sides[2], 0), border: [0, 0, 0, 0], padding: [0, 0, 0, 0])
  }

  /// The properties of the computed style that follow from the layout, in units of the design.
  var style: [String: String] {
    let content = inset(by: border).inset(by: padding)
    var style = ["display": "flex", "width": Self.length(content.width), "height": Self.length(content.height)]
    for (index, side) in ["top", "right", "bottom", "left"].enumerated() {
      style["border-\(side)-width"] = Self.length(border[index])
      style["padding-\(side)"] = Self.length(padding[index])
    }
    return style
  }

  private static func length(_ value: Double) -> String {
    let rounded = (value * 100).rounded() / 100
    return (ScriptValue.number(rounded).plainText ?? "0") + "px"
  }
}
