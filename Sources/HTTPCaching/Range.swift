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

// MARK: - Stored bytes

/// How much of a representation is stored. RFC 9111 §3.3.
public enum Extent: Hashable, Sendable {
  /// All, so many bytes.
  case whole(Int64)
  /// These bytes, of so many where that is known.
  case part(Range<Int64>, of: Int64?)

  /// Bytes that are stored.
  public var count: Int64 {
    switch self {
    case .whole(let size): size
    case .part(let range, _): range.upperBound - range.lowerBound
    }
  }

  public var isWhole: Bool { if case .whole = self { true } else { false } }

  /// Bytes of the whole representation, where that is known.
  public var size: Int64? {
    switch self {
    case .whole(let size): size
    case .part(_, let size): size
    }
  }

  /// The requested bytes, where all of them are here; as positions in the representation.
  func covering(_ request: RequestedRange) -> Range<Int64>? {
    switch self {
    case .whole(let size):
      return request.resolved(in: size)
    case .part(let stored, let size):
      if case .between(let first, let last) = request, size == nil, last < .max {
        return stored.contains(first) && stored.contains(last) ? first..<(last + 1) : nil
      }
      guard let size, let wanted = request.resolved(in: size) else { return nil }
      return stored.lowerBound <= wanted.lowerBound && wanted.upperBound <= stored.upperBound ? wanted : nil
    }
  }

  /// Both together, where they touch or overlap and speak of the same size. RFC 9111 §3.4.
  public func joined(with other: Extent) -> Extent? {
    guard case .part(let left, let leftSize) = self, case .part(let right, let rightSize) = other,
      left.lowerBound <= right.upperBound, right.lowerBound <= left.upperBound,
      leftSize == nil || rightSize == nil || leftSize == rightSize
    else { return nil }
    let range = min(left.lowerBound, right.lowerBound)..<max(left.upperBound, right.upperBound)
    let size = leftSize ?? rightSize
    if let size, range.upperBound > size { return nil }
    return Extent(range, of: size)
  }

  /// A part that is all there is counts as the whole.
  public init(_ range: Range<Int64>, of size: Int64?) {
    self = range.lowerBound == 0 && range.upperBound == size ? .whole(range.upperBound) : .part(range, of: size)
  }
}
