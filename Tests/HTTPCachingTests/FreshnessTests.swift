import HTTPTypes
import Testing

@testable import HTTPCaching

struct FreshnessLifetimeTests {
  private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
  private static let received = HTTPDate(secondsSinceEpoch: 784_111_777)

  private static func lifetime(_ fields: HTTPFields, status: Int = 200, isShared: Bool = false) -> FreshnessLifetime {
    FreshnessLifetime(
      of: HTTPResponse(status: .init(code: status), headerFields: fields),
      policy: CachePolicy(mode: isShared ? .shared : .private), received: received)
  }

  @Test("s-maxage wins in a shared cache only")
  func sharedMaxAge() {
    let fields: HTTPFields = [.cacheControl: "max-age=10, s-maxage=20", .expires: Self.date]
    #expect(Self.lifetime(fields, isShared: true).seconds == 20)
    #expect(Self.lifetime(fields).seconds == 10)
    #expect(Self.lifetime(fields).source == .maxAge)
  }

  @Test("max-age wins over Expires")
  func maxAgeOverExpires() {
    #expect(Self.lifetime([.cacheControl: "max-age=0", .expires: "Sun, 06 Nov 1994 09:49:37 GMT"]).seconds == 0)
  }

  @Test("the lifetime by Expires starts at Date")
  func expiresFromDate() {
    let fields: HTTPFields = [.date: "Sun, 06 Nov 1994 08:00:00 GMT", .expires: "Sun, 06 Nov 1994 09:00:00 GMT"]
    #expect(Self.lifetime(fields).seconds == 3600)
    #expect(Self.lifetime(fields).source == .expires)
  }

  @Test("an invalid Expires is in the past", arguments: ["0", "-1", "never", "", "Sun, 31 Feb 1994 09:00:00 GMT"])
  func invalidExpires(_ value: String) {
    #expect(Self.lifetime([.date: Self.date, .expires: value]).seconds == 0)
    #expect(
      Self.lifetime([.date: Self.date, .expires: value, .lastModified: "Sun, 06 Nov 1993 08:49:37 GMT"]).seconds == 0)
  }

  @Test("two Expires that differ are in the past")
  func severalExpires() {
    var fields: HTTPFields = [.date: Self.date]
    fields.append(HTTPField(name: .expires, value: "Sun, 06 Nov 1994 09:49:37 GMT"))
    fields.append(HTTPField(name: .expires, value: "Mon, 07 Nov 1994 08:49:37 GMT"))
    #expect(Self.lifetime(fields).seconds == 0)
  }

  @Test("the heuristic lifetime is a tenth of the time since the modification, at most a day")
  func heuristic() {
    #expect(Self.lifetime([.date: Self.date, .lastModified: "Sun, 06 Nov 1994 08:32:57 GMT"]).seconds == 100)
    let old = Self.lifetime([.date: Self.date, .lastModified: "Sun, 06 Nov 1984 08:49:37 GMT"])
    #expect((old.seconds, old.source) == (86_400, .heuristic))
    #expect(Self.lifetime([.date: Self.date, .lastModified: "Sun, 06 Nov 1999 08:49:37 GMT"]).seconds == 0)
  }

  @Test(
    "only heuristically cacheable statuses have a heuristic lifetime",
    arguments: [(404, true), (410, true), (308, true), (302, false), (307, false), (500, false), (403, false)])
  func heuristicStatuses(_ status: Int, _ isGuessed: Bool) {
    let fields: HTTPFields = [.date: Self.date, .lastModified: "Sun, 06 Nov 1994 08:32:57 GMT"]
    #expect((Self.lifetime(fields, status: status).seconds > 0) == isGuessed)
    let told = Self.lifetime(fields.merging([.cacheControl: "public"]), status: status)
    #expect(told.source == .heuristic)
  }

  @Test("without any rule a response is not fresh")
  func noLifetime() {
    #expect(Self.lifetime([.date: Self.date]).source == .unknown)
  }
}

extension HTTPFields {
  fileprivate func merging(_ other: HTTPFields) -> HTTPFields {
    var merged = self
    for field in other { merged.append(field) }
    return merged
  }
}

// MARK: - Age

struct AgeTests {
  /// Sun, 06 Nov 1994 08:49:37 GMT.
  private static let start: Int64 = 784_111_777

  private static func age(
    _ fields: HTTPFields, asked: Int64 = 0, came: Int64 = 0, now: Int64 = 0
  ) -> Int64 {
    let times = ExchangeTimes(
      request: HTTPDate(secondsSinceEpoch: start + asked), response: HTTPDate(secondsSinceEpoch: start + came))
    return Age(of: fields, times: times).seconds(at: HTTPDate(secondsSinceEpoch: start + now))
  }

  private static func fields(date: Int64? = nil, age: String...) throws -> HTTPFields {
    var fields = HTTPFields()
    if let date { fields[.date] = HTTPDate(secondsSinceEpoch: start + date).description }
    for value in age { fields.append(HTTPField(name: try #require(HTTPField.Name("Age")), value: value)) }
    return fields
  }

  @Test("the time in this cache counts")
  func residentTime() throws {
    #expect(Self.age(try Self.fields(date: 0), now: 30) == 30)
  }

  @Test("the time in other caches counts")
  func otherCaches() throws {
    #expect(Self.age(try Self.fields(date: 0, age: "100"), now: 30) == 130)
  }

  @Test("the delay of the response counts")
  func responseDelay() throws {
    #expect(Self.age(try Self.fields(date: 0, age: "100"), asked: -4, now: 30) == 134)
  }

  @Test("an old Date outweighs a small Age")
  func apparentAge() throws {
    #expect(Self.age(try Self.fields(date: -500, age: "100"), now: 30) == 530)
  }

  @Test("a Date in the future does not lower the age")
  func futureDate() throws {
    #expect(Self.age(try Self.fields(date: 9999, age: "5"), now: 30) == 35)
  }

  @Test(
    "the first of several Age values applies, and an invalid one is ignored",
    arguments: [
      ("7, 9", 7), (" 7 ", 7), ("-7", 0), ("7.5", 0), ("x", 0), ("", 0), ("7 9", 0), ("+7", 0),
    ])
  func severalAges(_ value: String, _ seconds: Int64) throws {
    #expect(Self.age(try Self.fields(date: 0, age: value)) == seconds)
    #expect(Self.age(try Self.fields(date: 0, age: value, "99")) == seconds)
  }

  @Test("a clock that was set back does not lower the age")
  func clockSetBack() throws {
    #expect(Self.age(try Self.fields(date: 0, age: "5"), asked: 100, came: 0, now: -50) == 100)
  }

  @Test("extreme times neither overflow nor lower the age")
  func extremeTimes() throws {
    let extremes: [Int64] = [.min, .min + 1, -1 << 60, -1, 0, 1, 1 << 31, 1 << 60, .max - 1, .max]
    let fields = try Self.fields(date: 0, age: "99999999999999999999")
    for request in extremes {
      for response in extremes {
        let times = ExchangeTimes(
          request: HTTPDate(secondsSinceEpoch: request), response: HTTPDate(secondsSinceEpoch: response))
        let age = Age(of: fields, times: times)
        var last: Int64 = 0
        for now in extremes {
          let seconds = age.seconds(at: HTTPDate(secondsSinceEpoch: now))
          #expect(seconds >= last && seconds <= CacheControl.longestSeconds)
          last = seconds
        }
      }
    }
  }
}
