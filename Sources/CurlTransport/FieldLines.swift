import HTTPTypes

/// Collects field lines one by one.
struct FieldLines {
  private(set) var fields = HTTPFields()
  private var lastName: HTTPField.Name?
  /// `true` if libcurl may read a line with the body's length differently: it does not unfold lines, and does not
  /// recognise names with a space before the colon. The same counts for a value with other bytes than visible ASCII.
  private(set) var hasUnclearFraming = false

  /// - Parameters:
  ///   - line: a line without its end.
  ///   - text: converts the bytes of a value.
  mutating func append(_ line: UnsafeRawBufferPointer, text: (UnsafeRawBufferPointer) -> String) {
    if line.first?.isFieldSpace == true {
      // RFC 9112 §5.2: a folded line continues the field before it, after one space.
      guard let lastName, let last = fields.lastIndex(where: { $0.name == lastName }) else { return }
      fields[last].value += " " + text(UnsafeRawBufferPointer(rebasing: line.trimmed))
      if Self.isFraming(lastName) { hasUnclearFraming = true }
      return
    }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
      lastName = nil
      return
    }
    // RFC 9112 §5.1: a proxy removes the space before a colon; the field is valid.
    let bytes = line[..<colon].trimmed
    guard let name = HTTPField.Name(String(decoding: bytes, as: UTF8.self)) else {
      lastName = nil
      return
    }
    let value = UnsafeRawBufferPointer(rebasing: line[(colon + 1)...].trimmed)
    fields.append(HTTPField(name: name, value: text(value)))
    lastName = name
    // A value becomes text without its control characters, and the small letter of the sign of Kelvin is a k.
    let isClear = bytes.count == colon && value.allSatisfy { $0 == 9 || 0x20...0x7E ~= $0 }
    if !isClear, Self.isFraming(name) { hasUnclearFraming = true }
  }

  private static func isFraming(_ name: HTTPField.Name) -> Bool { name == .contentLength || name == .transferEncoding }
}

extension BidirectionalCollection<UInt8> {
  /// The bytes without the spaces and tabs at both ends. RFC 9110 §5.6.3.
  var trimmed: SubSequence {
    let start = firstIndex { !$0.isFieldSpace } ?? endIndex
    var end = endIndex
    while end > start, self[index(before: end)].isFieldSpace { formIndex(before: &end) }
    return self[start..<end]
  }
}

extension UInt8 {
  /// `true` for a space or a tab.
  fileprivate var isFieldSpace: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
