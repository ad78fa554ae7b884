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

  private static func decode(_ utf8: UnsafeBufferPointer<UInt8>, count: Int) -> [UInt8]? {
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
