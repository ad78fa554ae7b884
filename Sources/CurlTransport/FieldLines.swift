import HTTPTypes

/// Collects field lines one by one.
struct FieldLines {
  private(set) var fields = HTTPFields()
  private var lastName: HTTPField.Name?
  /// `true` if libcurl may read a line with the body's length differently: it does not unfold lines, and does not
  /// recognise names with a space before the colon.
  private(set) var hasUnclearFraming = false

  private static let framing: Set<HTTPField.Name> = [.contentLength, .transferEncoding]

  /// - Parameter line: without its end.
  mutating func append(_ line: String) {
    let bytes = line.utf8
    if let first = bytes.first, Self.isSpace(first) {
      // RFC 9112 §5.2: a folded line continues the field before it, after one space.
      guard let lastName, let last = fields.lastIndex(where: { $0.name == lastName }) else { return }
      fields[last].value += " " + Self.trimmed(line[...])
      if Self.framing.contains(lastName) { hasUnclearFraming = true }
      return
    }
    // RFC 9112 §5.1: a proxy removes the space before a colon; the field is valid.
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
      let name = HTTPField.Name(Self.trimmedAtEnd(line[..<colon]))
    else {
      lastName = nil
      return
    }
    fields.append(HTTPField(name: name, value: Self.trimmed(line[bytes.index(after: colon)...])))
    lastName = name
    if Self.framing.contains(name), bytes[..<colon].count != name.rawName.utf8.count { hasUnclearFraming = true }
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

  private static func trimmed(_ text: Substring) -> String {
    trimmedAtEnd(text[(text.utf8.firstIndex { !isSpace($0) } ?? text.endIndex)...])
  }

  private static func trimmedAtEnd(_ text: Substring) -> String {
    let last = text.utf8.lastIndex { !isSpace($0) }
    return String(text[..<(last.map { text.utf8.index(after: $0) } ?? text.startIndex)])
  }
}
