/// Checks while a body streams that it can be a script.
///
/// A server that no longer has a page often answers 200 with HTML, which would show an empty page if it were run.
package struct ScriptCheck {
  package enum Fault: Hashable, CustomStringConvertible {
    case html
    case empty
    case notUTF8

    package var description: String {
      switch self {
      case .html: "HTML"
      case .empty: "empty"
      case .notUTF8: "not UTF-8 text"
      }
    }
  }

  package init() {}

  /// Returns the fault of a whole script; `nil` if it has none.
  package static func fault(of bytes: [UInt8]) -> Fault? {
    var check = ScriptCheck()
    return check.receive(bytes) ?? check.finish()
  }

  private var start: [UInt8] = []
  private var isStartKnown = false
  /// The bytes of an incomplete character at the end.
  private var pending: [UInt8] = []

  private static let startSize = 512

  /// - Returns: the fault as soon as it is known.
  package mutating func receive(_ bytes: [UInt8]) -> Fault? {
    if !isStartKnown {
      start += bytes.prefix(Self.startSize - start.count)
      isStartKnown = start.count >= Self.startSize
      if isStartKnown, Self.isHTML(start) { return .html }
    }
    return isValid(bytes) ? nil : .notUTF8
  }

  /// - Returns: the fault of the whole body; `nil` if it has none.
  package func finish() -> Fault? {
    if Self.isBlank(start) { return .empty }
    if Self.isHTML(start) { return .html }
    return pending.isEmpty ? nil : .notUTF8
  }

  private mutating func isValid(_ bytes: [UInt8]) -> Bool {
    let text = pending.isEmpty ? bytes : pending + bytes
    let complete = text.dropLast(Self.incompleteTail(text))
    pending = Array(text[complete.endIndex...])
    // A string of the text would be a copy of it.
    return (try? UTF8Span(validating: complete.span)) != nil
  }

  /// The number of bytes at the end that begin a character without completing it.
  private static func incompleteTail(_ text: [UInt8]) -> Int {
    for length in 1...3 where length <= text.count {
      let byte = text[text.count - length]
      if byte & 0xC0 == 0x80 { continue }  // a continuation byte: the character begins further left
      let needed = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
      return needed > length ? length : 0
    }
    return 0
  }

  private static func isBlank(_ bytes: [UInt8]) -> Bool {
    bytes.count < startSize && withoutMark(bytes).allSatisfy(isSpace)
  }

  /// No script begins with “<”.
  private static func isHTML(_ bytes: [UInt8]) -> Bool {
    withoutMark(bytes).first { !isSpace($0) } == UInt8(ascii: "<")
  }

  private static func withoutMark(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
    bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
  }

  private static func isSpace(_ byte: UInt8) -> Bool { [9, 10, 11, 12, 13, 32].contains(byte) }
}
