import HTTPTypes
import Testing

@testable import HTTPCaching

struct StoredAnswerTests {
  private static let modified = "Sun, 06 Nov 1994 08:00:00 GMT"
  private static let stored = Sample.stored(
    "max-age=60",
    [
      .eTag: "\"v\"", .lastModified: modified, .contentType: "text/plain", .contentLength: "100", .age: "3",
      .vary: "Accept", .contentLocation: "/a.txt", .expires: "0",
    ])

  private static func answer(
    _ fields: HTTPFields, from stored: StoredResponse = Self.stored, method: HTTPRequest.Method = .get
  ) -> StoredAnswer {
    StoredAnswer(to: Sample.request(fields, method: method), from: stored, age: 42)
  }

  /// RFC 9111 §4: an `Age` that replaces whatever came.
  @Test func anAnswerTellsItsAge() {
    let answer = Self.answer([:])
    #expect(answer.head.status == .ok && answer.body == .bytes(0..<100))
    #expect(answer.head.headerFields[values: .age] == ["42"])
    #expect(answer.head.headerFields[.contentLength] == "100")
  }

  @Test func aHeadGetsTheSameFieldsAndNoBytes() {
    let answer = Self.answer([.range: "bytes=0-1"], method: .head)
    #expect(answer.head == Self.answer([:]).head)
    #expect(answer.body == .none)
  }

  /// RFC 9110 §13.1.2, §8.8.3.2.
  @Test(arguments: [
    ("\"v\"", true), ("W/\"v\"", true), ("*", true), ("\"a\", \"v\"", true), ("\"a\",W/\"v\"", true),
    ("\"a,\", \"v\"", true), (" \"v\" ,", true), ("\"w\"", false), ("w/\"v\"", false), ("\"V\"", false), ("v", false),
    ("\"a, \"v\", b\"", false), ("\"a\", *", false), ("", false), (",", false),
  ])
  func aListOfEntityTagsIsCompared(_ list: String, _ isNotModified: Bool) {
    for method in [HTTPRequest.Method.get, .head] {
      let answer = Self.answer([.ifNoneMatch: list], method: method)
      #expect(answer.head.status.code == (isNotModified ? 304 : 200))
    }
  }

  @Test func whereNothingStoredHasAnETagOnlyAStarMatches() {
    let stored = Sample.stored("max-age=60", [:])
    #expect(Self.answer([.ifNoneMatch: "*"], from: stored).head.status.code == 304)
    #expect(Self.answer([.ifNoneMatch: "\"v\""], from: stored).head.status.code == 200)
  }

  @Test func aWeakEntityTagThatIsStoredMatchesItsStrongForm() {
    let stored = Sample.stored("max-age=60", [.eTag: "W/\"v\""])
    #expect(Self.answer([.ifNoneMatch: "\"v\""], from: stored).head.status.code == 304)
  }

  /// RFC 9110 §13.1.3.
  @Test(arguments: [
    (modified, true), ("Sun, 06 Nov 1994 08:00:01 GMT", true), ("Sunday, 06-Nov-94 08:00:00 GMT", true),
    ("Sun, 06 Nov 1994 07:59:59 GMT", false), ("never", false), ("", false),
  ])
  func aDateIsComparedWithTheModification(_ date: String, _ isNotModified: Bool) {
    #expect(Self.answer([.ifModifiedSince: date]).head.status.code == (isNotModified ? 304 : 200))
  }

  @Test func severalDatesAreNone() {
    var fields: HTTPFields = [.ifModifiedSince: Self.modified]
    fields.append(HTTPField(name: .ifModifiedSince, value: Self.modified))
    #expect(Self.answer(fields).head.status.code == 200)
  }

  /// RFC 9110 §13.1.3, RFC 9111 §4.3.2.
  @Test(arguments: ["\"w\"", "", ","])
  func theDateDoesNotCountBesideEntityTags(_ list: String) {
    #expect(Self.answer([.ifNoneMatch: list, .ifModifiedSince: Self.modified]).head.status.code == 200)
    #expect(Self.answer([.ifNoneMatch: "\"v\"", .ifModifiedSince: "0"]).head.status.code == 304)
  }

  /// RFC 9111 §4.3.2.
  @Test func withoutAModificationItsDateCounts() {
    let stored = Sample.stored("max-age=60", [:])
    let (same, before) = (Sample.time(0).description, Sample.time(-1).description)
    #expect(Self.answer([.ifModifiedSince: same], from: stored).head.status.code == 304)
    #expect(Self.answer([.ifModifiedSince: before], from: stored).head.status.code == 200)
  }

  /// RFC 9110 §15.4.5.
  @Test func aConfirmationHasTheFieldsThatUpdateACacheAndNoOthers() {
    let answer = Self.answer([.ifNoneMatch: "\"v\"", .range: "bytes=0-1"])
    #expect(answer.head.status.code == 304 && answer.body == .none)
    let names: Set<HTTPField.Name> = [
      .cacheControl, .contentLocation, .date, .eTag, .expires, .vary, .lastModified, .age,
    ]
    #expect(Set(answer.head.headerFields.map(\.name)) == names)
  }

  /// RFC 9110 §13.2.1.
  @Test(arguments: [301, 404])
  func conditionsDoNotCountForWhatIsNoSuccess(_ status: Int) {
    let stored = Sample.stored(status: status)
    for fields: HTTPFields in [[.ifNoneMatch: "*"], [.ifModifiedSince: Self.modified], [.range: "bytes=0-1"]] {
      #expect(Self.answer(fields, from: stored).head.status.code == status)
    }
  }
}
