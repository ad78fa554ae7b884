/// Converts bytes of fields to text, and back, without loss: RFC 9110 §5.5 calls bytes beyond ASCII opaque.
///
/// Valid UTF-8 is unchanged. Any other byte beyond ASCII becomes a scalar of its own, from U+10FE80 to U+10FEFF in a
/// private use plane. So do the bytes of these scalars themselves, and those of U+FFFD, which marks bytes that were
/// lost elsewhere.
package enum OpaqueText {
  private static let first: UInt32 = 0x10FE00

  /// Converts bytes, or the first part of them, to text.
  ///
  /// - Parameter isWhole: `true` if no more bytes follow, so that an incomplete scalar at the end is not UTF-8.
  /// - Returns: the text, and the number of last bytes, up to three, that may form a scalar with the following ones.
  ///   They are not in the text.
  package static func text(
    of bytes: some Collection<UInt8>, isWhole: Bool = true
  ) -> (text: [UInt8], left: Int) {
    bytes.withBytes { text(in: $0, isWhole: isWhole) }
  }

  private static func text(in bytes: UnsafeBufferPointer<UInt8>, isWhole: Bool) -> (text: [UInt8], left: Int) {
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count + 16)
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte < 0x80 {
        text.append(byte)
        index += 1
        continue
      }
      let length = Self.length(of: byte)
      let scalar = Array(bytes[index..<min(index + max(length, 1), bytes.count)])
      if !isWhole, scalar.count < length, isBeginning(scalar) { return (text, scalar.count) }
      if length > 0, scalar.count == length, String(validating: scalar, as: UTF8.self).map(isPlain) == true {
        text += scalar
        index += length
      } else {
        text += Array(String(escape(byte)).utf8)
        index += 1
      }
    }
    return (text, 0)
  }

  /// Converts bytes to a string.
  package static func string(of bytes: some Collection<UInt8>) -> String {
    bytes.withBytes { bytes in
      // Most texts are ASCII.
      bytes.allSatisfy { $0 < 0x80 }
        ? String(decoding: bytes, as: UTF8.self) : String(decoding: text(in: bytes, isWhole: true).text, as: UTF8.self)
    }
  }

  /// Converts text back to bytes.
  package static func bytes(of text: some Collection<UInt8>) -> [UInt8] {
    text.withBytes { text in
      guard text.contains(escapeStart) else { return Array(text) }
      var bytes: [UInt8] = []
      bytes.reserveCapacity(text.count)
      var index = 0
      while index < text.count {
        if text[index] == escapeStart, let escaped = escaped(text[index..<min(index + 4, text.count)]) {
          bytes.append(escaped)
          index += 4
        } else {
          bytes.append(text[index])
          index += 1
        }
      }
      return bytes
    }
  }

  /// The first byte of every escape's UTF-8.
  private static let escapeStart: UInt8 = 0xF4

  /// Returns `true` if a text contains bytes that are not UTF-8.
  package static func hasEscapes(_ text: String) -> Bool {
    // Most texts have no such byte.
    text.utf8.contains(escapeStart) && text.unicodeScalars.contains(where: isEscape)
  }

  /// Converts each byte that is not UTF-8 to a letter of ISO 8859-1, for output that must be UTF-8.
  package static func readable(_ text: String) -> String {
    guard hasEscapes(text) else { return text }
    return String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { isEscape($0) ? UnicodeScalar($0.value - first) ?? $0 : $0 }))
  }

  private static func isEscape(_ scalar: UnicodeScalar) -> Bool {
    (first + 0x80...first + 0xFF).contains(scalar.value)
  }

  private static func isPlain(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { !isEscape($0) && $0 != "\u{FFFD}" }
  }

  private static func escape(_ byte: UInt8) -> UnicodeScalar { UnicodeScalar(first + UInt32(byte)) ?? "\u{FFFD}" }

  /// The byte for the UTF-8 of an escape; `nil` if the bytes are not an escape.
  private static func escaped(_ scalar: some Collection<UInt8>) -> UInt8? {
    // U+10FE80 is F4 8F BA 80, U+10FEFF is F4 8F BB BF.
    let bytes = Array(scalar)
    guard bytes.count == 4, bytes[0] == escapeStart, bytes[1] == 0x8F, [0xBA, 0xBB].contains(bytes[2]),
      (0x80...0xBF).contains(bytes[3])
    else { return nil }
    return 0x80 | (bytes[2] & 1) << 6 | (bytes[3] & 0x3F)
  }

  /// The number of bytes of a scalar that begins with this byte; 0 if none does. RFC 3629 §4.
  private static func length(of byte: UInt8) -> Int {
    switch byte {
    case 0xC2...0xDF: 2
    case 0xE0...0xEF: 3
    case 0xF0...0xF4: 4
    default: 0
    }
  }

  /// Returns `true` if all bytes after the first are continuation bytes.
  private static func isBeginning(_ bytes: [UInt8]) -> Bool { bytes.dropFirst().allSatisfy { $0 & 0xC0 == 0x80 } }
}
