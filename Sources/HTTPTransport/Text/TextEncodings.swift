import Foundation

/// Converts bytes to lower-case hexadecimal text, and back.
package enum Hex {
  private static let digits = Array("0123456789abcdef".utf8)

  package static func encode(_ bytes: some Collection<UInt8>) -> String {
    String(unsafeUninitializedCapacity: bytes.count * 2) { buffer in
      var index = 0
      for byte in bytes {
        buffer[index] = digits[Int(byte >> 4)]
        buffer[index + 1] = digits[Int(byte & 15)]
        index += 2
      }
      return index
    }
  }

  /// Returns 16 digits.
  package static func encode(_ number: UInt64) -> String {
    String(unsafeUninitializedCapacity: 16) { write(number, to: $0, at: 0) }
  }

  /// Returns 32 digits.
  package static func encode(_ high: UInt64, _ low: UInt64) -> String {
    String(unsafeUninitializedCapacity: 32) { write(low, to: $0, at: write(high, to: $0, at: 0)) }
  }

  /// Returns the position behind the 16 digits.
  private static func write(_ number: UInt64, to buffer: UnsafeMutableBufferPointer<UInt8>, at start: Int) -> Int {
    for index in 0..<16 {
      buffer[start + index] = digits[Int(truncatingIfNeeded: number >> UInt64(60 - 4 * index)) & 15]
    }
    return start + 16
  }

  /// Returns `nil` unless `text` has exactly `2 * count` hexadecimal digits, in either case.
  package static func decode(_ text: some StringProtocol, count: Int) -> [UInt8]? {
    text.utf8.withBytes { decode($0, count: count) }
  }

  /// Returns `nil` unless the text has exactly `2 * count` hexadecimal digits, in either case.
  package static func decode(_ utf8: UnsafeBufferPointer<UInt8>, count: Int) -> [UInt8]? {
    guard utf8.count == count * 2 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    var high: UInt8?
    for character in utf8 {
      guard let nibble = value(of: character) else { return nil }
      if let first = high {
        bytes.append(first << 4 | nibble)
        high = nil
      } else {
        high = nibble
      }
    }
    return bytes
  }

  private static func value(of character: UInt8) -> UInt8? {
    switch character {
    case 48...57: character - 48
    case 97...102: character - 87
    case 65...70: character - 55
    default: nil
    }
  }
}

extension [UInt8] {
  /// Decodes base64 as pages and URLs write it: white space is ignored, and padding may be missing. Returns `nil` if the
  /// text is not base64.
  package init?(base64 text: String) {
    let digits = text.filter { !$0.isWhitespace && $0 != "=" }
    let padded = digits + String(repeating: "=", count: (4 - digits.count % 4) % 4)
    guard let data = Data(base64Encoded: padded) else { return nil }
    self.init(data)
  }
}

extension String {
  /// Returns the text with its bytes percent-encoded, in upper case, except those that are allowed. RFC 3986 §2.1.
  ///
  /// - Parameter keepsEscapes: `true` if `%` and two hexadecimal digits stay as they are.
  package func percentEncoded(keepingEscapes keepsEscapes: Bool = false, where isAllowed: (UInt8) -> Bool) -> String {
    var result: [UInt8] = []
    result.reserveCapacity(utf8.count)
    var rest = utf8[...]
    while let byte = rest.popFirst() {
      if isAllowed(byte) || keepsEscapes && byte == UInt8(ascii: "%") && rest.beginsWithHexByte != nil {
        result.append(byte)
      } else {
        result.append(percentEncoded: byte)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Returns the text with all bytes except unreserved ones percent-encoded.
  package var percentEncoded: String { percentEncoded { $0.isUnreserved } }

  /// Returns the text with its escapes as RFC 3986 §6.2.2.1 and §6.2.2.2 normalise them: in upper case, and none for
  /// unreserved characters.
  var normalisingEscapes: String {
    guard utf8.contains(UInt8(ascii: "%")) else { return self }
    var result: [UInt8] = []
    var rest = utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%"), let value = rest.beginsWithHexByte else {
        result.append(byte)
        continue
      }
      rest = rest.dropFirst(2)
      if value.isUnreserved { result.append(value) } else { result.append(percentEncoded: value) }
    }
    return String(decoding: result, as: UTF8.self)
  }
}

extension Substring {
  /// The bytes that the text stands for; they need not be text. A `%` without two hexadecimal digits stands for itself.
  package var percentDecodedBytes: [UInt8] {
    var result: [UInt8] = []
    var rest = utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let value = rest.beginsWithHexByte {
        result.append(value)
        rest = rest.dropFirst(2)
      } else {
        result.append(byte)
      }
    }
    return result
  }
}

extension Substring.UTF8View {
  /// The byte that the first two hexadecimal digits stand for; `nil` if the text does not begin with two of them.
  fileprivate var beginsWithHexByte: UInt8? {
    String(prefix(2)).flatMap { Hex.decode($0, count: 1)?.first }
  }
}

extension [UInt8] {
  fileprivate mutating func append(percentEncoded byte: UInt8) {
    self += Array("%\(Hex.encode([byte]).uppercased())".utf8)
  }
}

extension UInt8 {
  /// RFC 3986 §2.3: letters, digits, `-`, `.`, `_` and `~`.
  @inlinable
  package var isUnreserved: Bool {
    switch self {
    case 48...57, 65...90, 97...122, 0x2D, 0x2E, 0x5F, 0x7E: true
    default: false
    }
  }

  /// RFC 3986 §3.3: the characters of a path's segments, and the separator.
  @inlinable
  package var isPathCharacter: Bool {
    switch self {
    case 0x21, 0x24, 0x26...0x2F, 0x3A, 0x3B, 0x3D, 0x40: true  // ! $ &'()*+,-./ : ; = @
    default: isUnreserved
    }
  }
}

extension Collection<UInt8> {
  /// Calls a function with the bytes in memory, which are copied only if they do not lie there one after the other. Steps
  /// through a collection of unknown type would cost a call each.
  func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    withContiguousStorageIfAvailable(body) ?? Array(self).withUnsafeBufferPointer(body)
  }
}
