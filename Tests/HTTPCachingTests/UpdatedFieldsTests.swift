import HTTPTypes
import Testing

@testable import HTTPCaching

/// RFC 9111 §3.1, §3.2.
struct UpdatedFieldsTests {
  private static func update(_ stored: HTTPFields, by new: HTTPFields, mode: CachePolicy.Mode = .private) -> HTTPFields
  {
    UpdatedFields.of(stored, by: new, at: Sample.time(5), policy: CachePolicy(mode: mode))
  }

  @Test func newFieldsReplaceAllLinesOfOldOnesAndOthersStay() throws {
    let (own, other) = (try #require(HTTPField.Name("X-A")), try #require(HTTPField.Name("X-B")))
    var stored: HTTPFields = [own: "1", other: "1", .contentType: "text/html"]
    stored.append(HTTPField(name: own, value: "2"))
    var new: HTTPFields = [own: "3"]
    new.append(HTTPField(name: own, value: "4"))
    let updated = Self.update(stored, by: new)
    #expect(updated[values: own] == ["3", "4"])
    #expect(updated[other] == "1" && updated[.contentType] == "text/html")
    #expect(Self.update(stored, by: [.contentType: "text/plain"])[.contentType] == "text/plain")
  }

  /// RFC 9110 §6.6.1.
  @Test func theDateIsThatOfTheConfirmation() {
    let stored: HTTPFields = [.date: Sample.time(0).description]
    #expect(Self.update(stored, by: [:])[values: .date] == [Sample.time(5).description])
    #expect(Self.update(stored, by: [.date: Sample.time(4).description])[values: .date] == [Sample.time(4).description])
  }

  @Test func anOldAgeIsForgotten() {
    #expect(Self.update([.age: "9"], by: [:])[.age] == nil)
    #expect(Self.update([.age: "9"], by: [.age: "2"])[values: .age] == ["2"])
  }

  @Test(arguments: [HTTPField.Name.contentLength, .contentEncoding, .contentRange])
  func whatTheStoredBytesDependOnStays(_ name: HTTPField.Name) {
    #expect(Self.update([name: "old"], by: [name: "new"])[values: name] == ["old"])
    #expect(Self.update([:], by: [name: "new"])[name] == nil)
  }

  @Test func fieldsOfTheConnectionAreNotTakenOver() throws {
    let hop = try #require(HTTPField.Name("X-OutgoingRequest"))
    let updated = Self.update(
      [hop: "old"], by: [.connection: "X-OutgoingRequest", hop: "new", .transferEncoding: "chunked"])
    #expect(updated[values: hop] == ["old"])
    #expect(!updated.contains(.connection) && !updated.contains(.transferEncoding))
  }

  /// RFC 9111 §5.2.2.4, §5.2.2.7: whichever of the two says so.
  @Test(
    arguments: [
      ("no-cache=\"set-cookie\"", nil, false, false), (nil, "no-cache=\"set-cookie\"", false, false),
      ("private=\"set-cookie\"", nil, true, false), (nil, "private=\"set-cookie\"", true, false),
      ("no-cache=\"set-cookie\"", "max-age=1", true, false), (nil, nil, true, false),
    ] as [(String?, String?, Bool, Bool)])
  func fieldsThatMayNotBeUsedAgainAreNeitherTakenOverNorKept(
    _ old: String?, _ new: String?, _ privately: Bool, _ shared: Bool
  ) {
    for (mode, isKept) in [(CachePolicy.Mode.private, privately), (.shared, shared)] {
      for (inOld, inNew) in [(true, false), (false, true)] {
        var (stored, fresh): (HTTPFields, HTTPFields) = ([:], [:])
        stored[.cacheControl] = old
        fresh[.cacheControl] = new
        stored[.setCookie] = inOld ? "a=1" : nil
        fresh[.setCookie] = inNew ? "a=1" : nil
        #expect(Self.update(stored, by: fresh, mode: mode).contains(.setCookie) == isKept, "\(mode) \(inOld)")
      }
    }
  }
}
