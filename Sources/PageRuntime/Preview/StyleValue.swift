import Foundation

/// Checks values of styles and converts their units for a browser.
///
/// A unit of the design, which is 750 wide, is a hundredth of a `rem`.
enum StyleValue {
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
