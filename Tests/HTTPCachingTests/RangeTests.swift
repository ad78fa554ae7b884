import HTTPTypes
import Testing

@testable import HTTPCaching

struct ByteRangeTests {
  /// RFC 9110 §14.1.2.
  @Test(
    "a single range of bytes is read",
    arguments: [
      ("bytes=0-0", RequestedRange.between(0, 0)), ("bytes=5-", .from(5)), ("bytes=-5", .suffix(5)),
      ("Bytes=1-2", .between(1, 2)), (" bytes=1-2 ", .between(1, 2)), ("bytes= 1-2", .between(1, 2)),
      ("bytes=007-8", .between(7, 8)), ("bytes=9-99999999999999999999", .between(9, .max)),
      ("bytes=99999999999999999999-", .from(.max)), ("bytes=2-1", nil), ("bytes=1 - 2", nil), ("bytes=1-2-3", nil),
      ("bytes=-", nil), ("bytes=1", nil), ("bytes=1-2,", nil), ("bytes=1-2, 4-5", nil), ("bytes=-1-", nil),
      ("bytes=0x1-2", nil), ("bytes=١-٢", nil), ("octets=1-2", nil), ("bytes", nil), ("", nil),
    ] as [(String, RequestedRange?)])
  func singleRange(_ value: String, _ range: RequestedRange?) {
    #expect(RequestedRange([.range: value]) == range)
  }

  @Test("several Range fields are ignored")
  func severalFields() {
    var fields: HTTPFields = [.range: "bytes=0-1"]
    fields.append(HTTPField(name: .range, value: "bytes=0-1"))
    #expect(RequestedRange(fields) == nil)
    #expect(RequestedRange([:]) == nil)
  }

  @Test(
    "a range is resolved to positions within a size",
    arguments: [
      (RequestedRange.from(0), 10, 0..<10), (.from(9), 10, 9..<10), (.from(10), 10, nil), (.from(.max), 10, nil),
      (.between(0, 0), 10, 0..<1), (.between(9, .max), 10, 9..<10), (.between(.max, .max), .max, nil),
      (.between(10, 11), 10, nil), (.suffix(1), 10, 9..<10), (.suffix(.max), 10, 0..<10), (.suffix(0), 10, nil),
      (.suffix(1), 0, nil),
    ] as [(RequestedRange, Int64, Range<Int64>?)])
  func resolvedRange(_ range: RequestedRange, _ size: Int64, _ bytes: Range<Int64>?) {
    #expect(range.resolved(in: size) == bytes)
    // The end of nothing is the only thing that is satisfiable and still has no bytes.
    #expect(range.isSatisfiable(in: size) == (bytes != nil || range == .suffix(1) && size == 0))
  }

  /// RFC 9110 §14.4.
  @Test(
    "a valid Content-Range is read",
    arguments: [
      ("bytes 0-9/10", 0..<10, 10), ("bytes 5-5/*", 5..<6, nil), ("BYTES 0-0/1", 0..<1, 1), (" bytes 0-0/1 ", 0..<1, 1),
      ("bytes 0-9223372036854775806/9223372036854775807", 0..<Int64.max, .max),
    ] as [(String, Range<Int64>, Int64?)])
  func contentRange(_ value: String, _ bytes: Range<Int64>, _ size: Int64?) throws {
    let range = try #require(ContentRange(value))
    #expect(range.range == bytes && range.size == size)
    #expect(ContentRange(range.description) == range)
    #expect(ContentRange(bytes, size: size) == range)
  }

  @Test(
    "a Content-Range that violates the grammar is rejected",
    arguments: [
      nil, "", "bytes", "bytes ", "bytes 0-9", "bytes 0-9/", "bytes 0-9/9", "bytes 0-9/10/", "bytes 0-9//10",
      "bytes */10",
      "bytes 9-0/10", "bytes -1-9/10", "bytes +0-9/10", "bytes 0-+9/10", "bytes 0-9/+10", "bytes 0-9/-10",
      "bytes 0 - 9/10",
      "bytes 0-9 / 10", "bytes=0-9/10", "bytes 0-9/**", "lines 0-9/10", "bytes 0-9/10, bytes 0-9/10", "bytes ١-٢/٣",
      "bytes 0-9223372036854775807/*", "bytes 0-99999999999999999999/*", "bytes 0-1/99999999999999999999",
    ] as [String?])
  func invalidContentRange(_ value: String?) {
    #expect(ContentRange(value) == nil)
  }

  @Test(
    "positions that no Content-Range has give none",
    arguments: [
      (5..<5, 10), (0..<0, nil), (.min ..< .min, nil), (.min..<1, nil), (-1..<5, 10), (0..<11, 10), (0..<1, 0),
      (0..<1, -1), (0..<1, .min),
    ] as [(Range<Int64>, Int64?)])
  func impossiblePositions(_ range: Range<Int64>, _ size: Int64?) {
    #expect(ContentRange(range, size: size) == nil)
  }
}

// MARK: - Stored bytes

/// RFC 9111 §3.3, §3.4.
struct ExtentTests {
  @Test("a part that covers the whole representation is the whole")
  func completePart() {
    #expect(Extent(0..<10, of: 10) == .whole(10))
    #expect(Extent(0..<0, of: 0) == .whole(0))
    #expect(Extent(0..<10, of: nil) == .part(0..<10, of: nil))
    #expect(Extent(1..<10, of: 10) == .part(1..<10, of: 10))
    #expect(Extent(0..<9, of: 10) == .part(0..<9, of: 10))
  }

  @Test("the number of bytes and the size are known")
  func countsAndSizes() {
    #expect((Extent.whole(9).count, Extent.whole(9).size, Extent.whole(9).isWhole) == (9, 9, true))
    let part = Extent.part(3..<9, of: nil)
    #expect((part.count, part.size, part.isWhole) == (6, nil, false))
    #expect(Extent.part(3..<9, of: 20).size == 20)
  }

  @Test(
    "parts that touch or overlap are joined",
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
  func joinedParts(_ left: Extent, _ right: Extent, _ both: Extent?) {
    #expect(left.joined(with: right) == both)
    #expect(right.joined(with: left) == both)
  }

  @Test(
    "a range is covered if all of its bytes are stored",
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
  func coveredRange(_ extent: Extent, _ range: RequestedRange, _ bytes: Range<Int64>?) {
    #expect(extent.covering(range) == bytes)
  }
}
