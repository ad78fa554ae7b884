import CJavaScriptCore

/// Finds the column of a syntax error: the engine gives its line only.
///
/// A parser reads from left to right and stops at the first text that does not fit. So a script that is cut after that text
/// fails in the same way, and one that is cut before it does not.
extension ScriptContext {
  /// The largest length in UTF-16 units: each of about twenty tries parses the script. Longer scripts get the line only.
  private static let lengthLimit = 8 << 20

  /// The exception with its column, if it is a syntax error of this script.
  func located(_ exception: ScriptException, in source: String, url: String?) -> ScriptException {
    guard let line = exception.line, exception.url == url || exception.url == nil else { return exception }
    let units = Array(source.utf16)
    guard units.count <= Self.lengthLimit, let found = fault(of: units[...], url), found.message == exception.message,
      let range = Self.range(ofLine: line, in: units)
    else { return exception }
    var result = exception
    result.column = column(of: found, in: units, range, url).map { $0 + 1 }
    return result
  }

  /// The column, from 0, in UTF-16 units.
  private func column(
    of found: ScriptException, in units: [UInt16], _ line: Range<Int>, _ url: String?
  ) -> Int? {
    // Text that is missing is missing at the end.
    if found.message.contains("end of script") { return line.count }
    // The shortest beginning of the script that fails in this way.
    var (fits, fails) = (line.lowerBound, line.upperBound)
    guard fault(of: units[..<fails], url) == found else { return nil }
    while fits + 1 < fails {
      let middle = (fits + fails) / 2
      if fault(of: units[..<middle], url) == found { fails = middle } else { fits = middle }
    }
    // The message quotes the text that does not fit; a word is known only when it has ended.
    let before = units[line.lowerBound..<fails]
    for token in Self.quoted(in: found.message) {
      let token = Array(token.utf16)
      for spare in 0...1 where before.dropLast(spare).suffix(token.count).elementsEqual(token) {
        let start = before.count - spare - token.count
        // Of a string literal the message has the text between the quotes.
        let isQuoted = start > 0 && Self.quotes.contains(before[before.startIndex + start - 1])
        return isQuoted && found.message.contains("string literal") ? start - 1 : start
      }
    }
    return before.count - 1
  }

  private static let quotes = Array("'\"`".utf16)

  /// The quoted texts of a message.
  private static func quoted(in message: String) -> [String] {
    ["\'", "\"", "`"].compactMap { quote in
      guard let start = message.firstRange(of: quote)?.upperBound,
        let end = message[start...].lastIndex(where: { String($0) == quote }), start < end
      else { return nil }
      let text = String(message[start..<end])
      // `'='. Expected …`: up to the first closing quote, unless the text is a quote itself.
      return text.firstRange(of: quote + ".").map { String(text[..<$0.lowerBound]) } ?? text
    }
  }

  private func fault(of units: ArraySlice<UInt16>, _ url: String?) -> ScriptException? {
    let script = units.withUnsafeBufferPointer { JSStringCreateWithCharacters($0.baseAddress, $0.count) }
    guard let script else { return nil }
    defer { JSStringRelease(script) }
    var thrown: JSValueRef?
    let isGood = (url ?? "").withEngineString { JSCheckScriptSyntax(raw, script, $0, 1, &thrown) }
    guard !isGood, let thrown else { return nil }
    return exception(thrown)
  }

  /// A line's units, without its end.
  private static func range(ofLine line: Int, in units: [UInt16]) -> Range<Int>? {
    var (number, start) = (1, 0)
    while number < line {
      guard let end = units[start...].firstIndex(where: isLineEnd) else { return nil }
      // CR LF is one end.
      let isPair = units[end] == 13 && end + 1 < units.count && units[end + 1] == 10
      start = end + (isPair ? 2 : 1)
      number += 1
    }
    return start..<(units[start...].firstIndex(where: isLineEnd) ?? units.count)
  }

  private static func isLineEnd(_ unit: UInt16) -> Bool { [10, 13, 0x2028, 0x2029].contains(unit) }
}
