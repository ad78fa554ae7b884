import HTTPTypes
import Testing

@testable import HTTPCaching

struct StoredResponseTests {
  private static let modified = "Sun, 06 Nov 1994 08:00:00 GMT"
  private static let stored = Sample.stored(
    "max-age=60",
    [
      .eTag: "\"v\"", .lastModified: modified, .contentType: "text/plain", .contentLength: "100", .age: "3",
      .vary: "Accept", .contentLocation: "/a.txt", .expires: "0",
    ])

  private static func answer(
    _ fields: HTTPFields, from stored: StoredResponse = Self.stored, method: HTTPRequest.Method = .get
  ) -> (head: HTTPResponse, bytes: Range<Int64>?) {
    stored.response(to: Sample.request(fields, method: method), age: 42)
  }

  /// RFC 9111 §4: an `Age` that replaces whatever came.
  @Test("an answer has its Age")
  func age() {
    let answer = Self.answer([:])
    #expect(answer.head.status == .ok && answer.bytes == 0..<100)
    #expect(answer.head.headerFields[values: .age] == ["42"])
    #expect(answer.head.headerFields[.contentLength] == "100")
  }

  @Test(
    "the Age of an answer is within what an age can be",
    arguments: [(-1, "0"), (.min, "0"), (0, "0"), (1 << 31, "2147483648"), (.max, "2147483648")] as [(Int64, String)])
  func boundedAge(_ age: Int64, _ field: String) {
    #expect(Self.stored.response(to: Sample.request(), age: age).head.headerFields[values: .age] == [field])
  }

  @Test("the policy does not count when stored responses are compared")
  func equality() {
    #expect(Sample.stored(mode: .private) == Sample.stored(mode: .shared))
    #expect(Sample.stored(extent: .whole(1)) != Sample.stored(extent: .whole(2)))
  }

  @Test("HEAD gets the same fields and no body")
  func head() {
    let answer = Self.answer([.range: "bytes=0-1"], method: .head)
    #expect(answer.head == Self.answer([:]).head)
    #expect(answer.bytes == nil)
  }

  /// RFC 9110 §13.1.2, §8.8.3.2.
  @Test(
    "every member of If-None-Match is compared",
    arguments: [
      ("\"v\"", true), ("W/\"v\"", true), ("*", true), ("\"a\", \"v\"", true), ("\"a\",W/\"v\"", true),
      ("\"a,\", \"v\"", true), (" \"v\" ,", true), ("\"w\"", false), ("w/\"v\"", false), ("\"V\"", false), ("v", false),
      ("\"a, \"v\", b\"", false), ("\"a\", *", false), ("", false), (",", false),
    ])
  func ifNoneMatch(_ list: String, _ isNotModified: Bool) {
    for method in [HTTPRequest.Method.get, .head] {
      let answer = Self.answer([.ifNoneMatch: list], method: method)
      #expect(answer.head.status.code == (isNotModified ? 304 : 200))
    }
  }

  @Test("without a stored ETag only * matches")
  func star() {
    let stored = Sample.stored("max-age=60", [:])
    #expect(Self.answer([.ifNoneMatch: "*"], from: stored).head.status.code == 304)
    #expect(Self.answer([.ifNoneMatch: "\"v\""], from: stored).head.status.code == 200)
  }

  @Test("a stored weak ETag matches its strong form")
  func weakTag() {
    let stored = Sample.stored("max-age=60", [.eTag: "W/\"v\""])
    #expect(Self.answer([.ifNoneMatch: "\"v\""], from: stored).head.status.code == 304)
  }

  /// RFC 9110 §13.1.3.
  @Test(
    "If-Modified-Since is compared with Last-Modified",
    arguments: [
      (modified, true), ("Sun, 06 Nov 1994 08:00:01 GMT", true), ("Sunday, 06-Nov-94 08:00:00 GMT", true),
      ("Sun, 06 Nov 1994 07:59:59 GMT", false), ("never", false), ("", false),
    ])
  func ifModifiedSince(_ date: String, _ isNotModified: Bool) {
    #expect(Self.answer([.ifModifiedSince: date]).head.status.code == (isNotModified ? 304 : 200))
  }

  @Test("several If-Modified-Since fields are ignored")
  func severalDates() {
    var fields: HTTPFields = [.ifModifiedSince: Self.modified]
    fields.append(HTTPField(name: .ifModifiedSince, value: Self.modified))
    #expect(Self.answer(fields).head.status.code == 200)
  }

  /// RFC 9110 §13.1.3, RFC 9111 §4.3.2.
  @Test("If-None-Match disables If-Modified-Since", arguments: ["\"w\"", "", ","])
  func tagsOverDates(_ list: String) {
    #expect(Self.answer([.ifNoneMatch: list, .ifModifiedSince: Self.modified]).head.status.code == 200)
    #expect(Self.answer([.ifNoneMatch: "\"v\"", .ifModifiedSince: "0"]).head.status.code == 304)
  }

  /// RFC 9111 §4.3.2.
  @Test("Date replaces an absent Last-Modified")
  func dateAsModification() {
    let stored = Sample.stored("max-age=60", [:])
    let (same, before) = (Sample.time(0).description, Sample.time(-1).description)
    #expect(Self.answer([.ifModifiedSince: same], from: stored).head.status.code == 304)
    #expect(Self.answer([.ifModifiedSince: before], from: stored).head.status.code == 200)
  }

  /// RFC 9110 §15.4.5.
  @Test("a 304 has the fields that update a cache, and no others")
  func notModifiedFields() {
    let answer = Self.answer([.ifNoneMatch: "\"v\"", .range: "bytes=0-1"])
    #expect(answer.head.status.code == 304 && answer.bytes == nil)
    let names: Set<HTTPField.Name> = [
      .cacheControl, .contentLocation, .date, .eTag, .expires, .vary, .lastModified, .age,
    ]
    #expect(Set(answer.head.headerFields.map(\.name)) == names)
  }

  /// RFC 9110 §13.2.1.
  @Test("conditions do not apply to a stored error", arguments: [301, 404])
  func errorsIgnoreConditions(_ status: Int) {
    let stored = Sample.stored(status: status)
    for fields: HTTPFields in [[.ifNoneMatch: "*"], [.ifModifiedSince: Self.modified], [.range: "bytes=0-1"]] {
      #expect(Self.answer(fields, from: stored).head.status.code == status)
    }
  }
}

// MARK: - Ranges

struct RangeAnswerTests {
  private static let modified = "Sun, 06 Nov 1994 08:00:00 GMT"

  private static func answer(_ fields: HTTPFields, from stored: StoredResponse) -> (
    head: HTTPResponse, bytes: Range<Int64>?
  ) {
    stored.response(to: Sample.request(fields), age: 42)
  }

  /// RFC 9110 §14.1.2, §14.4, §15.3.7.
  @Test(
    "a range is answered with 206",
    arguments: [
      ("bytes=0-0", 0..<1, "bytes 0-0/100"), ("bytes=10-19", 10..<20, "bytes 10-19/100"),
      ("bytes=90-", 90..<100, "bytes 90-99/100"), ("bytes=-1", 99..<100, "bytes 99-99/100"),
      ("bytes=-1000", 0..<100, "bytes 0-99/100"), ("bytes=90-1000", 90..<100, "bytes 90-99/100"),
      ("BYTES=0-1", 0..<2, "bytes 0-1/100"), ("bytes=0-99999999999999999999", 0..<100, "bytes 0-99/100"),
      ("bytes=-99999999999999999999", 0..<100, "bytes 0-99/100"),
    ] as [(String, Range<Int64>, String)])
  func range(_ range: String, _ bytes: Range<Int64>, _ contentRange: String) {
    let answer = Self.answer([.range: range], from: Sample.stored())
    #expect(answer.head.status.code == 206 && answer.bytes == bytes)
    #expect(answer.head.headerFields[.contentRange] == contentRange)
    #expect(answer.head.headerFields[.contentLength] == String(bytes.count))
    #expect(answer.head.headerFields[.eTag] == "\"v\"")
  }

  /// RFC 9110 §14.2: what is not understood is ignored.
  @Test(
    "an invalid range is ignored",
    arguments: [
      "bytes=0-1,3-4", "lines=0-1", "bytes=5-4", "bytes=", "bytes=-", "bytes=a-b", "bytes=--1", "bytes 0-1",
      "bytes=+1-2",
      "0-1", "",
    ])
  func invalidRange(_ range: String) {
    let answer = Self.answer([.range: range], from: Sample.stored())
    #expect(answer.head.status.code == 200 && answer.bytes == 0..<100)
    #expect(answer.head.headerFields[.contentRange] == nil)
  }

  /// RFC 9110 §15.5.17. Nothing makes a cache keep it: it would stand for the whole.
  @Test(
    "a range beyond the end is a 416 that is not cacheable",
    arguments: ["bytes=100-", "bytes=100-200", "bytes=-0", "bytes=99999999999999999999-"])
  func unsatisfiableRange(_ range: String) {
    let answer = Self.answer([.range: range], from: Sample.stored("public, max-age=60"))
    #expect(answer.head.status.code == 416 && answer.bytes == nil)
    #expect(answer.head.headerFields[.contentRange] == "bytes */100")
    let names = Set(answer.head.headerFields.map(\.name))
    #expect(names == [.date, .age, .contentRange])
  }

  /// RFC 9110 §14.1.2: the last bytes of nothing are satisfiable, its first are not.
  @Test(
    "a suffix of empty content is satisfiable, a range from a position is not",
    arguments: [("bytes=-5", 200), ("bytes=-0", 416), ("bytes=0-", 416), ("bytes=0-0", 416)])
  func emptyContent(_ range: String, _ status: Int) {
    #expect(Self.answer([.range: range], from: Sample.stored(extent: .whole(0))).head.status.code == status)
  }

  /// RFC 9110 §14.2.
  @Test("only a stored 200 has ranges", arguments: [203, 204, 404])
  func rangesOf200(_ status: Int) {
    let stored = Sample.stored(status: status, extent: .whole(status == 204 ? 0 : 100))
    for range in ["bytes=0-1", "bytes=500-"] {
      #expect(Self.answer([.range: range], from: stored).head.status.code == status)
    }
  }

  /// RFC 9110 §13.1.5, §8.8.2.2.
  @Test(
    "a range applies only if If-Range matches",
    arguments: [
      ("\"v\"", 206), ("\"w\"", 200), ("W/\"v\"", 200), ("v", 200), ("*", 200), ("\"v\", \"v\"", 200), (modified, 206),
      ("Sun, 06 Nov 1994 08:00:01 GMT", 200), ("Sunday, 06-Nov-94 08:00:00 GMT", 200),
    ])
  func ifRange(_ condition: String, _ status: Int) {
    let stored = Sample.stored("max-age=60", [.eTag: "\"v\"", .lastModified: Self.modified])
    let answer = Self.answer([.range: "bytes=0-1", .ifRange: condition], from: stored)
    #expect(answer.head.status.code == status)
    // Where the condition fails there is no range that could be out of reach.
    let behind = Self.answer([.range: "bytes=500-", .ifRange: condition], from: stored)
    #expect(behind.head.status.code == (status == 206 ? 416 : 200))
  }

  @Test("a weak validator does not satisfy If-Range")
  func weakIfRange() {
    let weak = Sample.stored("max-age=60", [.eTag: "W/\"v\""])
    #expect(Self.answer([.range: "bytes=0-1", .ifRange: "W/\"v\""], from: weak).head.status.code == 200)
    // Changed in the second of its answer: there may be two contents of that date.
    let now = Sample.time(0).description
    let young = Sample.stored("max-age=60", [.lastModified: now])
    #expect(Self.answer([.range: "bytes=0-1", .ifRange: now], from: young).head.status.code == 200)
  }

  @Test("entity tags are compared byte by byte")
  func bytewiseTags() {
    let stored = Sample.stored("max-age=60", [.eTag: "\"\u{E9}\""])
    #expect(Self.answer([.range: "bytes=0-1", .ifRange: "\"\u{E9}\""], from: stored).head.status.code == 206)
    #expect(Self.answer([.range: "bytes=0-1", .ifRange: "\"e\u{301}\""], from: stored).head.status.code == 200)
    #expect(Self.answer([.ifNoneMatch: "\"e\u{301}\""], from: stored).head.status.code == 200)
  }

  @Test("positions in a part are those of its stored bytes")
  func positionsInParts() {
    let part = Sample.stored(extent: .part(40..<60, of: 100))
    let answer = Self.answer([.range: "bytes=45-49"], from: part)
    #expect(answer.head.status.code == 206 && answer.bytes == 5..<10)
    #expect(answer.head.headerFields[.contentRange] == "bytes 45-49/100")
    let unknown = Self.answer([.range: "bytes=45-49"], from: Sample.stored(extent: .part(40..<60, of: nil)))
    #expect(unknown.head.headerFields[.contentRange] == "bytes 45-49/*")
  }

  /// RFC 9111 §3.3.
  @Test(
    "a stored part is never sent as the whole",
    arguments: [[:], [.range: "bytes=0-99"], [.range: "bytes=500-"]] as [HTTPFields])
  func partAs206(_ fields: HTTPFields) {
    let answer = Self.answer(fields, from: Sample.stored(extent: .part(40..<60, of: 100)))
    #expect(answer.head.status.code == 206 && answer.bytes == 0..<20)
    #expect(answer.head.headerFields[.contentRange] == "bytes 40-59/100")
  }
}
