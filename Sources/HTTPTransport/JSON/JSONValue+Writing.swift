extension JSONValue {
  /// The JSON text in one line, with sorted members; `null` if it contains a number that JSON cannot represent.
  package var text: [UInt8] {
    var writer = JSONWriter()
    return writer.write(self) ? writer.bytes : Array("null".utf8)
  }
}

/// Writes JSON text, as `JSONEncoder` does with sorted keys and without escaped slashes, in a tenth of its time.
package struct JSONWriter {
  /// The text that is written.
  package private(set) var bytes: [UInt8] = []

  /// A writer of an empty text.
  package init() {}

  /// - Returns: `false` if the value contains a number that JSON cannot represent.
  package mutating func write(_ value: JSONValue) -> Bool {
    switch value {
    case .null: bytes += "null".utf8
    case .bool(let value): bytes += (value ? "true" : "false").utf8
    case .integer(let value): bytes += String(value).utf8
    case .number(let value):
      guard value.isFinite else { return false }
      let text = String(value)
      bytes += (text.hasSuffix(".0") ? text.dropLast(2) : text[...]).utf8
    case .string(let value): write(value)
    case .array(let values): return write(values, "[", "]") { $0.write($1) }
    case .object(let members):
      return write(members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }, "{", "}") { writer, member in
        writer.write(member.key)
        writer.bytes.append(UInt8(ascii: ":"))
        return writer.write(member.value)
      }
    }
    return true
  }

  private mutating func write<Element>(
    _ elements: [Element], _ opening: Unicode.Scalar, _ closing: Unicode.Scalar,
    each: (inout JSONWriter, Element) -> Bool
  ) -> Bool {
    bytes.append(UInt8(ascii: opening))
    var isFirst = true
    for element in elements {
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      isFirst = false
      guard each(&self, element) else { return false }
    }
    bytes.append(UInt8(ascii: closing))
    return true
  }

  /// Writes a part of the text as it is.
  package mutating func append(_ text: StaticString) {
    bytes += UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }

  /// Writes a string. RFC 8259 §7: quotes, backslashes and control characters are escaped.
  package mutating func write(_ string: String) {
    var string = string
    bytes.append(UInt8(ascii: "\""))
    string.withUTF8 { text in
      var start = 0
      for index in text.indices
      where text[index] < 0x20 || text[index] == UInt8(ascii: "\"") || text[index] == UInt8(ascii: "\\") {
        bytes += text[start..<index]
        bytes += Self.escape(of: text[index]).utf8
        start = index + 1
      }
      bytes += text[start...]
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static func escape(of byte: UInt8) -> String {
    switch byte {
    case UInt8(ascii: "\""): "\\\""
    case UInt8(ascii: "\\"): "\\\\"
    case 8: "\\b"
    case 9: "\\t"
    case 10: "\\n"
    case 12: "\\f"
    case 13: "\\r"
    default: (byte < 16 ? "\\u000" : "\\u00") + String(byte, radix: 16)
    }
  }
}
