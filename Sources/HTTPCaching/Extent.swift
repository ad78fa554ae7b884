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
