/// The single range of a `Range` field. RFC 9110 §14.1.2.
package enum ByteRange: Hashable, Sendable {
  /// `a-`: from a position to the end.
  case from(Int)
  /// `a-b`, both ends included.
  case between(Int, Int)
  /// `-n`: the last n bytes.
  case suffix(Int)

  /// Returns `nil` for a field that a server may ignore: another unit, several ranges, or an invalid range.
  package init?(_ field: String) {
    let parts = field.split(separator: "=", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
    let ends = parts[1].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    switch (Self.number(ends[0]), Self.number(ends[1])) {
    case (let first?, nil) where ends[1].isEmpty: self = .from(first)
    case (nil, let count?) where ends[0].isEmpty: self = .suffix(count)
    // RFC 9110 §14.1.1: a last position before the first makes the range invalid.
    case (let first?, let last?) where first <= last: self = .between(first, last)
    default: return nil
    }
  }

  /// Returns the positions in a body of this size; `nil` if none of them exists (416).
  package func positions(in size: Int) -> Range<Int>? {
    switch self {
    case .from(let first): first < size ? first..<size : nil
    case .between(let first, let last): first < size ? first..<min(last, size - 1) + 1 : nil
    case .suffix(let count): count > 0 && size > 0 ? max(0, size - count)..<size : nil
    }
  }

  private static func number(_ text: Substring) -> Int? {
    text.utf8.allSatisfy { (48...57).contains($0) } ? Int(text) : nil
  }
}
