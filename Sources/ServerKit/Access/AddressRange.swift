/// A range of addresses with a common prefix: `10.0.0.0/8`.
package struct AddressRange: Hashable, Sendable, CustomStringConvertible {
  package let base: HostAddress
  /// The number of significant bits.
  package let length: Int

  /// Returns `nil` if the text is not an address, or has a length out of range. Without a length the range is one
  /// address.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let base = parts.first.flatMap({ HostAddress(String($0)) }) else { return nil }
    let length = parts.count == 2 ? Int(parts[1]) : base.bytes.count * 8
    guard let length, (0...base.bytes.count * 8).contains(length) else { return nil }
    self.base = base
    self.length = length
  }

  package var description: String { "\(base.text)/\(length)" }

  package func contains(_ address: HostAddress) -> Bool {
    guard address.bytes.count == base.bytes.count else { return false }
    for index in 0..<(length + 7) / 8 {
      let mask = UInt8(truncatingIfNeeded: 0xff00 >> min(8, length - index * 8))
      if address.bytes[index] & mask != base.bytes[index] & mask { return false }
    }
    return true
  }
}
