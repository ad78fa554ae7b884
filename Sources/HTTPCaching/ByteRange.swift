import HTTPTypes

/// `Range: bytes=…` with one range. RFC 9110 §14.1.2.
public enum RequestedRange: Hashable, Sendable {
  /// From here to the end.
  case from(Int64)
  /// Both included.
  case between(Int64, Int64)
  /// The last so many bytes.
  case suffix(Int64)

  /// Nil for several ranges, another unit, or what cannot be read: a server may ignore the field, and so do we.
  public init?(_ fields: HTTPFields) {
    let lines = fields[values: .range]
    guard lines.count == 1, let line = lines.first?.trimmingSpaces, line.lowercased().hasPrefix("bytes=") else {
      return nil
    }
    let ends = line.dropFirst(6).trimmingSpaces.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    let (first, last) = (Self.number(ends[0]), Self.number(ends[1]))
    switch (first, last) {
    case (let first?, let last?) where first <= last: self = .between(first, last)
    case (let first?, nil) where ends[1].isEmpty: self = .from(first)
    case (nil, let count?) where ends[0].isEmpty: self = .suffix(count)
    default: return nil
    }
  }

  /// RFC 9110 §14.1.2: a number may be larger than any that can be held. It is behind every end then.
  private static func number(_ text: Substring) -> Int64? {
    text.isDigits ? Int64(text) ?? .max : nil
  }

  /// RFC 9110 §14.1.2: the end of nothing is nothing, but it is there.
  public func isSatisfiable(in size: Int64) -> Bool {
    switch self {
    case .from(let first), .between(let first, _): first < size
    case .suffix(let count): count > 0
    }
  }

  /// The bytes of a representation of so many; nil where it has none of them.
  public func resolved(in size: Int64) -> Range<Int64>? {
    let range: Range<Int64>
    switch self {
    case .from(let first): range = min(first, size)..<size
    case .between(let first, let last): range = min(first, size)..<min(last == .max ? size : last + 1, size)
    case .suffix(let count): range = max(0, size - count)..<size
    }
    return range.isEmpty ? nil : range
  }
}

/// `Content-Range: bytes 100-199/200`. RFC 9110 §14.4.
public struct ContentRange: Hashable, Sendable, CustomStringConvertible {
  public let first: Int64
  public let last: Int64
  /// Nil for `*`.
  public let size: Int64?

  public init(_ range: Range<Int64>, size: Int64?) {
    first = range.lowerBound
    last = range.upperBound - 1
    self.size = size
  }

  /// Nil for everything that the grammar does not allow: such a part may not be put together with another.
  public init?(_ value: String?) {
    guard let value = value?.trimmingSpaces, value.lowercased().hasPrefix("bytes ") else { return nil }
    let parts = value.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), last >= first,
      last < .max
    else { return nil }
    self.first = first
    self.last = last
    if parts[1] == "*" {
      size = nil
    } else {
      guard let total = Self.number(parts[1]), total > last else { return nil }
      size = total
    }
  }

  private static func number(_ text: Substring) -> Int64? { text.isDigits ? Int64(text) : nil }

  public var range: Range<Int64> { first..<(last + 1) }
  public var description: String { "bytes \(first)-\(last)/\(size.map(String.init) ?? "*")" }
}

extension Substring {
  fileprivate var isDigits: Bool { !isEmpty && utf8.allSatisfy { (48...57).contains($0) } }
}
