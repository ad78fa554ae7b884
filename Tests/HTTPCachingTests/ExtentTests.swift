import Testing

@testable import HTTPCaching

/// RFC 9111 §3.3, §3.4.
struct ExtentTests {
  @Test func aPartThatIsAllThereIsCountsAsTheWhole() {
    #expect(Extent(0..<10, of: 10) == .whole(10))
    #expect(Extent(0..<0, of: 0) == .whole(0))
    #expect(Extent(0..<10, of: nil) == .part(0..<10, of: nil))
    #expect(Extent(1..<10, of: 10) == .part(1..<10, of: 10))
    #expect(Extent(0..<9, of: 10) == .part(0..<9, of: 10))
  }

  @Test func bytesAndSizesAreTold() {
    #expect((Extent.whole(9).count, Extent.whole(9).size, Extent.whole(9).isWhole) == (9, 9, true))
    let part = Extent.part(3..<9, of: nil)
    #expect((part.count, part.size, part.isWhole) == (6, nil, false))
    #expect(Extent.part(3..<9, of: 20).size == 20)
  }

  @Test(
    arguments: [
      (Extent.part(0..<5, of: 10), Extent.part(5..<10, of: 10), Extent.whole(10)),
      (.part(5..<10, of: 10), .part(0..<5, of: 10), .whole(10)),
      (.part(0..<7, of: 10), .part(5..<10, of: nil), .whole(10)),
      (.part(0..<5, of: nil), .part(5..<8, of: nil), .part(0..<8, of: nil)),
      (.part(2..<8, of: 10), .part(3..<4, of: 10), .part(2..<8, of: 10)),
      // Apart, or of another size, or more than there is.
      (.part(0..<5, of: 10), .part(6..<10, of: 10), nil), (.part(0..<5, of: 10), .part(5..<9, of: 9), nil),
      (.part(0..<5, of: 10), .part(5..<12, of: nil), nil), (.whole(10), .part(5..<10, of: 10), nil),
      (.part(0..<5, of: 10), .whole(10), nil),
    ] as [(Extent, Extent, Extent?)])
  func partsThatTouchAreJoined(_ left: Extent, _ right: Extent, _ both: Extent?) {
    #expect(left.joined(with: right) == both)
    #expect(right.joined(with: left) == both)
  }

  @Test(
    arguments: [
      (Extent.whole(10), RequestedRange.from(3), 3..<10), (.whole(10), .suffix(3), 7..<10),
      (.whole(10), .between(3, 30), 3..<10), (.whole(10), .from(10), nil), (.whole(10), .suffix(0), nil),
      (.whole(0), .suffix(3), nil), (.part(2..<8, of: 10), .between(2, 7), 2..<8),
      (.part(2..<8, of: 10), .between(2, 8), nil), (.part(2..<8, of: 10), .between(1, 3), nil),
      (.part(2..<8, of: 10), .from(7), nil), (.part(2..<10, of: 10), .from(7), 7..<10),
      (.part(2..<10, of: 10), .suffix(8), 2..<10), (.part(2..<10, of: 10), .suffix(9), nil),
      (.part(2..<10, of: 10), .between(5, .max), 5..<10), (.part(2..<8, of: nil), .between(2, 7), 2..<8),
      (.part(2..<8, of: nil), .between(2, 8), nil), (.part(2..<8, of: nil), .from(7), nil),
      (.part(2..<8, of: nil), .suffix(1), nil), (.part(2..<8, of: nil), .between(3, .max), nil),
    ] as [(Extent, RequestedRange, Range<Int64>?)])
  func aRangeIsCoveredWhereAllOfItIsHere(_ extent: Extent, _ range: RequestedRange, _ bytes: Range<Int64>?) {
    #expect(extent.covering(range) == bytes)
  }
}
