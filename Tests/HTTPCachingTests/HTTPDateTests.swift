import HTTPCaching
import Testing

struct HTTPDateTests {
  private static let now = HTTPDate(secondsSinceEpoch: 1_795_000_000)  // in November 2026

  @Test(
    "all three formats name the same second",
    arguments: [
      "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
      "sun, 06 nov 1994 08:49:37 gmt", "SUNDAY, 06-NOV-94 08:49:37 Gmt",
    ])
  func threeFormats(_ text: String) {
    #expect(HTTPDate(text, now: Self.now)?.secondsSinceEpoch == 784_111_777)
  }

  @Test(
    "invalid dates are rejected",
    arguments: [
      "", "now", "Sun 06 Nov 1994 08:49:37 GMT", "Sun, 06  Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
      "Sun,06 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "Sun, Nov  6 08:49:37 1994",
      "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:49:37 PST",
      "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 +0000", "Sunday, 06-Nov-94 08:49:37 UTC",
      "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, -6 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 99999 08:49:37 GMT", "١٩٩٤", "a b, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
      "Sun, 0x Nov 1994 08:49:37 GMT", "Sun, 06 Nox 1994 08:49:37 GMT", "Sun, 30 Feb 2000 08:49:37 GMT",
    ])
  func invalidDates(_ text: String) {
    #expect(HTTPDate(text, now: Self.now) == nil)
  }

  @Test(
    "a written date is read as the same date",
    arguments: [0, 951_782_400, 1_709_164_800, 4_102_444_799, -1, -62_135_596_800])
  func roundTrip(_ seconds: Int64) throws {
    let date = HTTPDate(secondsSinceEpoch: seconds)
    #expect(HTTPDate(date.description, now: Self.now) == date)
  }

  @Test("a date with spaces around it, which takes another way, is the same date")
  func spaced() {
    for second in stride(from: Int64(-70_000_000_000), to: 200_000_000_000, by: 1_234_567_891) {
      let text = HTTPDate(secondsSinceEpoch: second).description
      #expect(HTTPDate(text, now: Self.now) == HTTPDate(" \(text) ", now: Self.now))
    }
  }

  @Test("dates are written as IMF-fixdate")
  func imfFixdate() {
    #expect(HTTPDate(secondsSinceEpoch: 784_111_777).description == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(HTTPDate(secondsSinceEpoch: 1_709_164_800).description == "Thu, 29 Feb 2024 00:00:00 GMT")
  }

  @Test(
    "every representable second can be written",
    arguments: [Int64.min, .min + 1, -62_167_219_201, 253_402_300_800, .max - 1, .max])
  func extremeSeconds(_ seconds: Int64) {
    #expect(HTTPDate(secondsSinceEpoch: seconds).description.hasSuffix(" GMT"))
  }

  /// RFC 9110 §5.6.7: to the second.
  @Test("a two-digit year more than 50 years ahead belongs to the past century")
  func twoDigitYears() throws {
    let now = try #require(HTTPDate("Mon, 16 Nov 2026 12:00:00 GMT", now: Self.now))
    for (text, year) in [
      ("Monday, 16-Nov-76 12:00:00 GMT", 2076), ("Monday, 16-Nov-76 12:00:01 GMT", 1976),
      ("Monday, 31-Dec-76 00:00:00 GMT", 1976), ("Monday, 01-Jan-76 00:00:00 GMT", 2076),
    ] {
      #expect(try #require(HTTPDate(text, now: now)).description.contains(" \(year) "))
    }
  }

  @Test("no clock value makes a two-digit year overflow", arguments: [Int64.min, -1 << 50, -1, 1 << 50, .max])
  func twoDigitYearOverflow(_ seconds: Int64) {
    #expect(HTTPDate("Monday, 31-Dec-99 23:59:60 GMT", now: HTTPDate(secondsSinceEpoch: seconds)) != nil)
  }

  @Test("a two-digit year is at most 50 years ahead", arguments: [("70", 2070), ("77", 1977), ("26", 2026)])
  func twoDigitYearLimit(_ digits: String, _ year: Int) throws {
    let date = try #require(HTTPDate("Monday, 05-Jan-\(digits) 00:00:00 GMT", now: Self.now))
    #expect(date.description.contains(" Jan \(year) "))
  }
}
