import HTTPTypes

/// The value of `Range: bytes=…` with one range. RFC 9110 §14.1.2.
package enum RequestedRange: Hashable, Sendable {
  /// From this position to the end.
  case from(Int64)
  /// The positions of the first and the last byte.
  case between(Int64, Int64)
  /// The last bytes, of this number.
  case suffix(Int64)

  /// Reads `Range`. Returns `nil` for several ranges, another unit or an invalid value: RFC 9110 §14.2 allows to ignore
  /// the field.
  package init?(_ fields: HTTPFields) {
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

  /// A number that exceeds 64 bits counts as the largest one, which is beyond the end of every representation.
  private static func number(_ text: Substring) -> Int64? {
    text.isDigits ? Int64(text) ?? .max : nil
  }

  /// Returns `false` if the range requires a 416. A suffix of an empty representation is satisfiable.
  /// RFC 9110 §14.1.2.
  package func isSatisfiable(in size: Int64) -> Bool {
    switch self {
    case .from(let first), .between(let first, _): first < size
    case .suffix(let count): count > 0
    }
  }

  /// Returns the positions in a representation of this size in bytes; `nil` if it has none of them.
  package func resolved(in size: Int64) -> Range<Int64>? {
    let size = max(0, size)
    let range: Range<Int64>
    switch self {
    case .from(let first): range = min(first, size)..<size
    case .between(let first, let last): range = min(first, size)..<min(last == .max ? size : last + 1, size)
    case .suffix(let count): range = max(0, size - count)..<size
    }
    return range.isEmpty ? nil : range
  }
}

/// The value of `Content-Range`, such as `bytes 100-199/200`. RFC 9110 §14.4.
public struct ContentRange: Hashable, Sendable, CustomStringConvertible {
  /// The position of the first byte.
  public let first: Int64
  /// The position of the last byte.
  public let last: Int64
  /// The size of the representation in bytes; `nil` if it is unknown (`*`).
  public let size: Int64?

  /// Creates the value of a part. Returns `nil` if no field value says it: for no position, a negative one, or one that
  /// is not below the size.
  ///
  /// - Parameters:
  ///   - range: the positions of the part.
  ///   - size: the size of the representation in bytes; `nil` if it is unknown.
  public init?(_ range: Range<Int64>, size: Int64?) {
    guard range.lowerBound >= 0, !range.isEmpty, range.upperBound <= size ?? .max else { return nil }
    first = range.lowerBound
    last = range.upperBound - 1
    self.size = size
  }

  /// Reads a field value. Returns `nil` for every violation of the grammar: such a part must not be combined with others.
  ///
  /// - Parameter value: the value of `Content-Range`; `nil` for none.
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

  /// The positions of the part.
  public var range: Range<Int64> { first..<(last + 1) }
  /// The field value.
  public var description: String { "bytes \(first)-\(last)/\(size.map(String.init) ?? "*")" }
}

extension Substring {
  fileprivate var isDigits: Bool { !isEmpty && utf8.allSatisfy { (48...57).contains($0) } }
}

// MARK: - Stored bytes

/// The stored bytes of a representation. RFC 9111 §3.3.
public enum Extent: Hashable, Sendable {
  /// The whole representation, with its size in bytes.
  case whole(Int64)
  /// These positions; `of` is the size of the representation in bytes, `nil` if it is unknown.
  case part(Range<Int64>, of: Int64?)

  /// The number of stored bytes, from 0.
  public var count: Int64 {
    switch self {
    case .whole(let size): return max(0, size)
    case .part(let range, _):
      let (count, overflows) = range.upperBound.subtractingReportingOverflow(range.lowerBound)
      return overflows ? .max : count
    }
  }

  /// The extent without negative numbers and without a size below its end. An extent whose positions cannot be becomes a
  /// part without bytes, which answers no request.
  var valid: Extent {
    switch self {
    case .whole(let size): size < 0 ? .part(0..<0, of: nil) : self
    case .part(let range, let size):
      if range.lowerBound < 0 {
        .part(0..<0, of: nil)
      } else {
        .part(range, of: size.flatMap { $0 < range.upperBound ? nil : $0 })
      }
    }
  }

  /// `true` if the whole representation is stored.
  public var isWhole: Bool { if case .whole = self { true } else { false } }

  /// The size of the whole representation in bytes; `nil` if it is unknown.
  public var size: Int64? {
    switch self {
    case .whole(let size): size
    case .part(_, let size): size
    }
  }

  /// Returns the requested positions if all of them are stored, otherwise `nil`.
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

  /// Returns the union of two parts if they touch or overlap, and their sizes do not differ; otherwise `nil`.
  /// RFC 9111 §3.4.
  ///
  /// - Parameter other: another part of the same representation, which a strong `ETag` identifies.
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

  /// Creates the extent of stored bytes. A part that is the whole representation becomes ``whole(_:)``.
  ///
  /// - Parameters:
  ///   - range: the stored positions.
  ///   - size: the size of the representation in bytes; `nil` if it is unknown.
  public init(_ range: Range<Int64>, of size: Int64?) {
    self = range.lowerBound == 0 && range.upperBound == size ? .whole(range.upperBound) : .part(range, of: size)
  }
}
