/// Bytes of fields as text, and back, without loss: RFC 9110 §5.5 has those beyond ASCII opaque.
///
/// UTF-8 stays what it is. Any other byte beyond ASCII stands as a scalar of its own, from U+10FE80 to U+10FEFF in a
/// plane that is nobody's. So do the bytes of these scalars themselves, and those of U+FFFD: where that one is met,
/// somebody has lost bytes.
package enum OpaqueText {
  private static let first: UInt32 = 0x10FE00

  /// The text of bytes; of a beginning of a text, if more may follow.
  ///
  /// - Parameter isWhole: no more bytes follow: a scalar that is cut is no UTF-8.
  /// - Returns: also how many of the last bytes, up to three, may be a scalar with those that follow. They are not in the
  ///   text.
  package static func text(
    of bytes: some Collection<UInt8>, isWhole: Bool = true
  ) -> (text: [UInt8], left: Int) {
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count + 16)
    var rest = bytes[...]
    while let byte = rest.first {
      if byte < 0x80 {
        text.append(byte)
        rest = rest.dropFirst()
        continue
      }
      let length = Self.length(of: byte)
      let scalar = Array(rest.prefix(max(length, 1)))
      if !isWhole, scalar.count < length, isBeginning(scalar) { return (text, scalar.count) }
      if length > 0, scalar.count == length, String(validating: scalar, as: UTF8.self).map(isPlain) == true {
        text += scalar
        rest = rest.dropFirst(length)
      } else {
        text += Array(String(escape(byte)).utf8)
        rest = rest.dropFirst()
      }
    }
    return (text, 0)
  }

  /// The text of bytes, as a string.
  package static func string(of bytes: some Collection<UInt8>) -> String {
    String(decoding: text(of: bytes).text, as: UTF8.self)
  }

  /// The bytes that a text stands for.
  package static func bytes(of text: some Collection<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text[...]
    while let byte = rest.first {
      if byte == 0xF4, let escaped = escaped(rest.prefix(4)) {
        bytes.append(escaped)
        rest = rest.dropFirst(4)
      } else {
        bytes.append(byte)
        rest = rest.dropFirst()
      }
    }
    return bytes
  }

  /// Returns `true` if a text stands for other bytes than its own.
  package static func hasEscapes(_ text: String) -> Bool {
    // Most have no byte of that kind at all.
    text.utf8.contains(0xF4) && text.unicodeScalars.contains(where: isEscape)
  }

  /// A text in which each byte that is no UTF-8 is a letter of ISO 8859-1, for who can write UTF-8 alone.
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

  /// The byte that the UTF-8 of an escape stands for.
  private static func escaped(_ scalar: some Collection<UInt8>) -> UInt8? {
    // U+10FE80 is F4 8F BA 80, U+10FEFF is F4 8F BB BF.
    let bytes = Array(scalar)
    guard bytes.count == 4, bytes[0] == 0xF4, bytes[1] == 0x8F, [0xBA, 0xBB].contains(bytes[2]),
      (0x80...0xBF).contains(bytes[3])
    else { return nil }
    return 0x80 | (bytes[2] & 1) << 6 | (bytes[3] & 0x3F)
  }

  /// How many bytes a scalar has that begins with this one; 0 if none does. RFC 3629 §4.
  private static func length(of byte: UInt8) -> Int {
    switch byte {
    case 0xC2...0xDF: 2
    case 0xE0...0xEF: 3
    case 0xF0...0xF4: 4
    default: 0
    }
  }

  /// Returns `true` if the bytes, the first of which begins a scalar, may be the beginning of one.
  private static func isBeginning(_ bytes: [UInt8]) -> Bool { bytes.dropFirst().allSatisfy { $0 & 0xC0 == 0x80 } }
}
