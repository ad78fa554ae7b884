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
    if bytes.first?.isFieldSpace == true {
      // RFC 9112 §5.2: a folded line continues the field before it, after one space.
      guard let lastName, let last = fields.lastIndex(where: { $0.name == lastName }) else { return }
      fields[last].value += " " + String(Substring(line[...].utf8.trimmed))
      if Self.framing.contains(lastName) { hasUnclearFraming = true }
      return
    }
    // RFC 9112 §5.1: a proxy removes the space before a colon; the field is valid.
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
      let name = HTTPField.Name(String(Substring(line[..<colon].utf8.trimmedAtEnd)))
    else {
      lastName = nil
      return
    }
    fields.append(HTTPField(name: name, value: String(Substring(line[bytes.index(after: colon)...].utf8.trimmed))))
    lastName = name
    if Self.framing.contains(name), bytes[..<colon].count != name.rawName.utf8.count { hasUnclearFraming = true }
  }
}

extension Substring.UTF8View {
  /// The text without the spaces and tabs at both ends. RFC 9110 §5.6.3.
  var trimmed: Self {
    let start = firstIndex { !$0.isFieldSpace } ?? endIndex
    return self[start...].trimmedAtEnd
  }

  /// The text without the spaces and tabs at its end.
  var trimmedAtEnd: Self {
    var end = endIndex
    while end > startIndex, self[index(before: end)].isFieldSpace { formIndex(before: &end) }
    return self[..<end]
  }
}

extension UInt8 {
  /// `true` for a space or a tab.
  fileprivate var isFieldSpace: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
