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

  @Test func sharedMaxAgeWinsInASharedCacheOnly() {
    let fields: HTTPFields = [.cacheControl: "max-age=10, s-maxage=20", .expires: Self.date]
    #expect(Self.lifetime(fields, isShared: true).seconds == 20)
    #expect(Self.lifetime(fields).seconds == 10)
    #expect(Self.lifetime(fields).source == .maxAge)
  }

  @Test func maxAgeWinsOverExpires() {
    #expect(Self.lifetime([.cacheControl: "max-age=0", .expires: "Sun, 06 Nov 1994 09:49:37 GMT"]).seconds == 0)
  }

  @Test func expiresCountsFromTheDate() {
    let fields: HTTPFields = [.date: "Sun, 06 Nov 1994 08:00:00 GMT", .expires: "Sun, 06 Nov 1994 09:00:00 GMT"]
    #expect(Self.lifetime(fields).seconds == 3600)
    #expect(Self.lifetime(fields).source == .expires)
  }

  @Test(arguments: ["0", "-1", "never", "", "Sun, 31 Feb 1994 09:00:00 GMT"])
  func anExpiresThatIsNoDateIsInThePast(_ value: String) {
    #expect(Self.lifetime([.date: Self.date, .expires: value]).seconds == 0)
    #expect(
      Self.lifetime([.date: Self.date, .expires: value, .lastModified: "Sun, 06 Nov 1993 08:49:37 GMT"]).seconds == 0)
  }

  @Test func twoExpiresThatDisagreeAreInThePast() {
    var fields: HTTPFields = [.date: Self.date]
    fields.append(HTTPField(name: .expires, value: "Sun, 06 Nov 1994 09:49:37 GMT"))
    fields.append(HTTPField(name: .expires, value: "Mon, 07 Nov 1994 08:49:37 GMT"))
    #expect(Self.lifetime(fields).seconds == 0)
  }

  @Test func aTenthOfItsRestIsGuessedAndNeverMoreThanADay() {
    #expect(Self.lifetime([.date: Self.date, .lastModified: "Sun, 06 Nov 1994 08:32:57 GMT"]).seconds == 100)
    let old = Self.lifetime([.date: Self.date, .lastModified: "Sun, 06 Nov 1984 08:49:37 GMT"])
    #expect((old.seconds, old.source) == (86_400, .heuristic))
    #expect(Self.lifetime([.date: Self.date, .lastModified: "Sun, 06 Nov 1999 08:49:37 GMT"]).seconds == 0)
  }

  @Test(arguments: [(404, true), (410, true), (308, true), (302, false), (307, false), (500, false), (403, false)])
  func onlySomeStatusesAreGuessedAt(_ status: Int, _ isGuessed: Bool) {
    let fields: HTTPFields = [.date: Self.date, .lastModified: "Sun, 06 Nov 1994 08:32:57 GMT"]
    #expect((Self.lifetime(fields, status: status).seconds > 0) == isGuessed)
    let told = Self.lifetime(fields.merging([.cacheControl: "public"]), status: status)
    #expect(told.source == .heuristic)
  }

  @Test func withoutAnyWordNothingIsFresh() {
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
