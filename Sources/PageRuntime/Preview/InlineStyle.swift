import ScriptEngine

/// An element's style as CSS declarations. Only known properties are kept, and only values that cannot load, run or end
/// anything.
enum InlineStyle {
  static func declarations(_ style: [String: ScriptValue]) -> [String] {
    let named = Dictionary(style.map { (kebab($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
    let isFixed = named["position"] == "fixed"
    var result = named.sorted { $0.key < $1.key }.compactMap { name, value -> String? in
      guard let text = value.plainText.flatMap({ Self.text($0, for: name) }) else { return nil }
      // The page is in the middle of a wide window.
      if isFixed, name == "left" || name == "right" { return "\(name):calc(var(--x) + \(text == "0" ? "0rem" : text))" }
      return "\(name):\(text)"
    }
    // Fixed elements are above all others, and at the screen's top left unless they say where.
    if isFixed {
      if named["left"] == nil, named["right"] == nil { result.append("left:var(--x)") }
      if named["top"] == nil, named["bottom"] == nil { result.append("top:0") }
      result.append("z-index:2")
    }
    if let color = named["placeholder-color"]?.plainText.flatMap({ StyleValue.safe($0) }) {
      result.append("--p:\(color)")
    }
    if let lines = named["lines"]?.plainText.flatMap({ Double($0) }), (1...1_000).contains(lines) {
      result += clamp(Int(lines), clips: named["text-overflow"] == "clip")
    }
    return result
  }

  private static func text(_ text: String, for name: String) -> String? {
    if name == "font-family" { return family(text) }
    guard let counts = properties[name], let safe = StyleValue.safe(text) else { return nil }
    return StyleValue.scaled(safe, countsPlainNumbers: counts)
  }

  /// The names of a font family in quotes, so that they are only names.
  static func family(_ text: String) -> String? {
    let names = text.split(separator: ",").prefix(10).compactMap { name in
      let kept = name.filter { $0.isASCII ? $0.isLetter || $0.isNumber || " -_".contains($0) : $0.isLetter }
      let trimmed = kept.drop { $0 == " " }.prefix(100)
      return trimmed.isEmpty ? nil : "'\(trimmed)'"
    }
    return names.isEmpty ? nil : names.joined(separator: ",")
  }

  private static func clamp(_ lines: Int, clips: Bool) -> [String] {
    clips
      ? ["max-height:calc(\(lines) * 1lh)", "overflow:hidden"]
      : ["display:-webkit-box", "-webkit-box-orient:vertical", "-webkit-line-clamp:\(lines)", "overflow:hidden"]
  }

  /// `backgroundColor` → `background-color`
  static func kebab(_ name: String) -> String {
    var result = ""
    for character in name.prefix(50) {
      if character.isASCII, character.isUppercase { result += "-" }
      result += character.lowercased()
    }
    return result
  }

  /// The properties of pages; `true` if a number without a unit is a length.
  private static let properties: [String: Bool] = {
    var result: [String: Bool] = [:]
    for name in [
      "width", "height", "min-width", "min-height", "max-width", "max-height", "top", "right", "bottom", "left",
      "margin", "padding", "border", "border-width", "border-radius", "font-size", "line-height", "letter-spacing",
      "box-shadow", "flex-basis",
    ] { result[name] = true }
    for side in ["top", "right", "bottom", "left"] {
      for name in ["margin", "padding", "border"] { result["\(name)-\(side)"] = true }
      result["border-\(side)-width"] = true
      result["border-\(side)-color"] = false
      result["border-\(side)-style"] = false
    }
    for corner in ["top-left", "top-right", "bottom-left", "bottom-right"] { result["border-\(corner)-radius"] = true }
    for name in [
      "flex", "flex-grow", "flex-shrink", "flex-direction", "flex-wrap", "justify-content", "align-items",
      "align-self", "align-content", "order", "position", "opacity", "visibility", "overflow", "background",
      "background-color", "background-image", "border-color", "border-style", "color", "font-style", "font-weight",
      "text-decoration", "text-align", "text-overflow", "text-transform", "word-wrap", "word-break", "direction",
      "transform", "transform-origin", "filter",
    ] { result[name] = false }
    return result
  }()
}
