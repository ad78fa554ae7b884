import Foundation
import ScriptEngine

/// An element's style as CSS declarations. Only known properties are kept, and only values that cannot load, run or end
/// anything.
package enum InlineStyle {
  /// The declarations of styles that were asked for before: most elements of a page have the style of another one.
  final class Texts {
    private var known: [[String: ScriptValue]: [String]] = [:]

    func declarations(of style: [String: ScriptValue]) -> [String] {
      if let declarations = known[style] { return declarations }
      let declarations = InlineStyle.declarations(style)
      known[style] = declarations
      return declarations
    }
  }

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
    if let color = named["placeholder-color"]?.plainText.flatMap({ safe($0) }) {
      result.append("--p:\(color)")
    }
    if let lines = named["lines"]?.plainText.flatMap({ Double($0) }), (1...1_000).contains(lines) {
      result += clamp(Int(lines), clips: named["text-overflow"] == "clip")
    }
    return result
  }

  private static func text(_ text: String, for name: String) -> String? {
    if name == "font-family" { return family(text) }
    // Devices read an unknown word as the initial value, and `flex: 0` as no share of an element that keeps its size.
    if let known = keywords[name], !known.contains(text) { return nil }
    if name == "flex", Double(text) == 0 { return "0 0 auto" }
    guard let counts = properties[name], let safe = safe(text) else { return nil }
    return scaled(safe, countsPlainNumbers: counts)
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
  package static func kebab(_ name: String) -> String {
    var result = ""
    for character in name.prefix(50) {
      if character.isASCII, character.isUppercase { result += "-" }
      result += character.lowercased()
    }
    return result
  }

  /// The words of properties that have no other values.
  private static let keywords: [String: Set<String>] = {
    let ends: Set<String> = ["flex-start", "start", "flex-end", "end", "center"]
    let spaces: Set<String> = ["space-between", "space-around", "space-evenly"]
    return [
      "align-items": ends.union(["stretch"]), "align-self": ends.union(["stretch"]),
      "justify-content": ends.union(spaces),
      "align-content": ends.union(spaces).union(["stretch", "normal"]),
      "flex-wrap": ["nowrap", "wrap", "wrap-reverse"],
      "flex-direction": ["row", "row-reverse", "column", "column-reverse"],
      "position": ["relative", "absolute", "fixed", "sticky"],
    ]
  }()

  /// The properties of pages; `true` if a number without a unit is a length.
  private static let properties: [String: Bool] = {
    var result: [String: Bool] = [:]
    for name in [
      "width", "height", "min-width", "min-height", "max-width", "max-height", "top", "right", "bottom", "left",
      "margin", "padding", "border", "border-width", "border-radius", "font-size", "line-height", "letter-spacing",
      "box-shadow", "flex-basis", "gap", "row-gap", "column-gap",
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
      "align-self", "align-content", "aspect-ratio", "order", "position", "opacity", "visibility", "overflow",
      "background",
      "background-color", "background-image", "border-color", "border-style", "color", "font-style", "font-weight",
      "text-decoration", "text-align", "text-overflow", "text-transform", "word-wrap", "word-break", "direction",
      "transform", "transform-origin", "filter",
    ] { result[name] = false }
    return result
  }()
}

// MARK: - Values

/// Values of styles are checked, and their units converted for a browser. A unit of the design, which is 750 wide, is a
/// hundredth of a `rem`.
extension InlineStyle {
  /// The largest length of a value in bytes.
  private static let lengthLimit = 500
  /// The units in a `wx`, a point of a screen with two pixels per point.
  private static let unitsPerPoint = 2.0

  private static let functions: Set<String> = [
    "rgb", "rgba", "hsl", "hsla", "linear-gradient", "calc", "blur", "translate", "translatex", "translatey",
    "translate3d", "rotate", "rotatex", "rotatey", "rotatez", "scale", "scalex", "scaley", "skew", "skewx", "skewy",
    "matrix", "perspective",
  ]

  /// Returns `nil` for a text that could end the declaration, load something or run.
  static func safe(_ text: String) -> String? {
    guard text.utf8.count <= lengthLimit, !text.isEmpty, text.utf8.allSatisfy(isPlain) else { return nil }
    // A word before a parenthesis is a function; only known ones are allowed.
    for piece in text.split(separator: "(", omittingEmptySubsequences: false).dropLast() {
      let name = piece.reversed().prefix { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
      guard name.isEmpty || functions.contains(String(name.reversed()).lowercased()) else { return nil }
    }
    return text
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: " #%.,()+-_*/".utf8.contains(byte)
    }
  }

  /// Converts every `px` and `wx` of a text, and plain numbers outside of functions, to the preview's unit.
  static func scaled(_ text: String, countsPlainNumbers: Bool) -> String {
    var result = ""
    var depth = 0
    var rest = Substring(text)
    while let next = rest.first {
      let word = rest.prefix { !" ,()".contains($0) }
      if word.isEmpty {
        if next == "(" { depth += 1 }
        if next == ")" { depth -= 1 }
        result.append(rest.removeFirst())
      } else {
        result += length(word, countsPlainNumbers && depth == 0) ?? String(word)
        rest = rest.dropFirst(word.count)
      }
    }
    return result
  }

  /// Returns `nil` if the word is not a length.
  private static func length(_ word: Substring, _ countsPlainNumbers: Bool) -> String? {
    let lowered = word.lowercased()
    if lowered.hasSuffix("px"), let number = number(lowered.dropLast(2)) { return units(number) }
    if lowered.hasSuffix("wx"), let number = number(lowered.dropLast(2)) { return units(number * unitsPerPoint) }
    return countsPlainNumbers ? number(Substring(lowered)).map(units) : nil
  }

  static func units(_ number: Double) -> String {
    let text = String(format: "%.4f", number / 100)
    let short = text.reversed().drop { $0 == "0" }.drop { $0 == "." }.reversed()
    let value = String(short)
    return value == "0" || value == "-0" || value.isEmpty ? "0" : "\(value)rem"
  }

  private static func number(_ text: Substring) -> Double? {
    guard let number = Double(text), number.isFinite, abs(number) <= 1e6 else { return nil }
    return number
  }
}
