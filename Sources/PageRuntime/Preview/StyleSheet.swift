import ScriptEngine

/// A page's styles as a browser understands them. What could be more than a style is left out.
enum StyleSheet {
  static func inline(_ style: [String: ScriptValue]) -> String {
    style.sorted { $0.key < $1.key }.compactMap { name, value in
      let property = kebab(name)
      guard let text = text(value, for: property), !text.isEmpty else { return nil }
      return "\(property):\(text)"
    }.joined(separator: ";")
  }

  /// `backgroundColor` → `background-color`
  private static func kebab(_ name: String) -> String {
    var result = ""
    for character in name where character.isASCII && (character.isLetter || character == "-") {
      if character.isUppercase { result += "-" }
      result += character.lowercased()
    }
    return result
  }

  /// Numbers without a unit mean the design's pixels, but for these.
  private static let plainNumbers: Set<String> = [
    "flex", "flex-grow", "flex-shrink", "opacity", "z-index", "font-weight", "lines", "order", "line-clamp",
  ]

  private static func text(_ value: ScriptValue, for property: String) -> String? {
    guard var text = value.plainText else { return nil }
    // Nothing that ends the declaration, loads something, or runs.
    let isHarmless =
      !text.contains(where: { ";{}<>\\\"".contains($0) }) && !text.lowercased().contains("url(")
      && !text.lowercased().contains("expression(")
    guard isHarmless, text.count <= 500 else { return nil }
    text = text.replacing("wx", with: "px")
    if property == "lines" { return nil }
    if Double(text) != nil, !plainNumbers.contains(property) { text += "px" }
    return text
  }
}
