import HTTPTypes
import PageTesting
import Testing

@testable import HTTPCaching

/// Rules that hold for every age, date and lifetime, however hostile.
struct ArithmeticTests {
  private static let modes: [CachePolicy.Mode] = [.private, .shared]
  private static let extremes: [Int64] = [
    .min, .min + 1, -1 << 62, -1 << 51, -1 << 50, -1, 0, 1, 1 << 31, 1 << 50, 1 << 51, 1 << 62, .max - 1, .max,
  ]
  private static let texts = [
    "", "0", "-1", "7", "7, 9", "2147483648", "4294967296", "9223372036854775807", "99999999999999999999", "x", "1e3",
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 31-Dec-99 23:59:60 GMT", "Sun Nov  6 08:49:37 1994",
    "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0000 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 GMT",
  ]
  private static let controls = [
    "", "no-cache", "no-cache=\"x\"", "must-revalidate", "proxy-revalidate", "public", "private", "immutable",
    "max-age=0",
    "max-age=60", "max-age=9999999999", "max-age=x", "s-maxage=0", "s-maxage=60", "stale-while-revalidate=60",
    "stale-while-revalidate=99999999999999999999", "stale-if-error=60", "stale-if-error=99999999999999999999",
  ]
  private static let wishes = [
    "", "no-cache", "max-age=0", "max-age=60", "min-fresh=60", "max-stale", "max-stale=60", "only-if-cached",
    "stale-if-error=99999999999999999999", "max-stale=99999999999999999999", "min-fresh=99999999999999999999",
  ]
  private static let rules: [LifetimeRule] =
    [.server, .exactly(60), .atMost(60)] + extremes.flatMap { [.exactly($0), .atMost($0)] }

  private static func time(_ random: inout SeededGenerator) -> HTTPDate {
    let near = Sample.start + Int64.random(in: -200...200, using: &random)
    return HTTPDate(secondsSinceEpoch: Bool.random(using: &random) ? near : extremes.randomElement(using: &random) ?? 0)
  }

  private static func control(_ choices: [String], _ random: inout SeededGenerator) -> String {
    (0..<Int.random(in: 0...3, using: &random)).map { _ in choices.randomElement(using: &random) ?? "" }
      .joined(separator: ", ")
  }

  private static func stored(_ policy: CachePolicy, _ random: inout SeededGenerator) -> StoredResponse {
    var fields: HTTPFields = [.cacheControl: control(controls, &random)]
    for name in [HTTPField.Name.age, .date, .expires, .lastModified] {
      for _ in 0..<Int.random(in: 0...2, using: &random) {
        fields.append(HTTPField(name: name, value: texts.randomElement(using: &random) ?? ""))
      }
    }
    if Bool.random(using: &random) { fields[.eTag] = "\"v\"" }
    return StoredResponse(
      id: 1, status: [200, 206, 302, 404].randomElement(using: &random) ?? 200, fields: fields,
      times: ExchangeTimes(request: time(&random), response: time(&random)), vary: VaryKey(), extent: .whole(9),
      isInvalidated: Int.random(in: 0..<8, using: &random) == 0, policy: policy)
  }

  /// Much cheaper than an expectation of its own for each of so many.
  private static func check(_ holds: Bool, _ stored: StoredResponse, _ now: HTTPDate? = nil) {
    if !holds { Issue.record("\(stored.fields) \(stored.times) \(now.map(\.secondsSinceEpoch) ?? 0)") }
  }

  @Test("an age never falls while time advances")
  func ageIsMonotonic() async {
    var random = SeededGenerator(seed: 9111)
    let policy = CachePolicy(mode: .private)
    for round in 0..<5_000 {
      await giveWay(round)
      let stored = Self.stored(policy, &random)
      let times = ([Self.time(&random), Self.time(&random), Self.time(&random)] + [stored.times.response]).sorted()
      let ages = times.map { stored.age.seconds(at: $0) }
      Self.check(ages == ages.sorted(), stored)
      Self.check(ages.allSatisfy { (0...CacheControl.longestSeconds).contains($0) }, stored)
      Self.check((0...CacheControl.longestSeconds).contains(stored.lifetime.seconds), stored)
      Self.check(stored.times.request <= stored.times.response, stored)
    }
  }

  @Test("no decision overflows, and no stale response counts as fresh")
  func noOverflow() async {
    var random = SeededGenerator(seed: 5861)
    for round in 0..<10_000 {
      await giveWay(round)
      let policy = CachePolicy(mode: Self.modes.randomElement(using: &random) ?? .private)
      let stored = Self.stored(policy, &random)
      let request = Sample.asking(Self.control(Self.wishes, &random))
      let (now, rule) = (Self.time(&random), Self.rules.randomElement(using: &random) ?? .server)
      let freshness = Freshness(of: stored, at: now, rule: rule)
      Self.check(freshness.isFresh == (freshness.remaining > 0), stored)
      let decision = policy.decision(for: request, among: [stored], at: now, lifetime: rule)
      switch decision {
      case .serve(_, let age, because: .fresh): Self.check(freshness.remaining > 0 && age == freshness.age, stored)
      case .serve(_, _, let reason): Self.check(freshness.remaining <= 0 && reason == .requestAllowsStale, stored)
      case .serveStale(_, let age, _): Self.check(freshness.remaining <= 0 && age == freshness.age, stored)
      case .revalidate(_, let sent, _):
        Self.check(!stored.validators.isEmpty && sent.headerFields[.ifNoneMatch] != "", stored)
      case .fetch:
        Self.check(
          stored.validators.isEmpty && !CacheControl(request.headerFields[values: .cacheControl]).onlyIfCached, stored)
      case .gatewayTimeout: Self.check(CacheControl(request.headerFields[values: .cacheControl]).onlyIfCached, stored)
      case .complete: Issue.record("nothing is stored in part")
      }
    }
  }

  @Test("a stale response is never used if its directives forbid that")
  func forbiddenStaleUse() async {
    var random = SeededGenerator(seed: 9110)
    var count = 0
    for round in 0..<10_000 {
      await giveWay(round)
      let policy = CachePolicy(mode: Self.modes.randomElement(using: &random) ?? .private)
      let stored = Self.stored(policy, &random)
      let request = Sample.asking(Self.control(Self.wishes, &random))
      let (now, rule) = (Self.time(&random), Self.rules.randomElement(using: &random) ?? .server)
      let control = CacheControl(stored.fields[values: .cacheControl])
      let isForbidden =
        control.noCache == .response || stored.isInvalidated
        || Freshness(of: stored, at: now, rule: rule).remaining <= 0
          && (control.mustRevalidate
            || policy.mode == .shared && (control.proxyRevalidate || control.sharedMaxAge != nil))
      guard isForbidden else { continue }
      count += 1
      switch policy.decision(for: request, among: [stored], at: now, lifetime: rule) {
      case .serve, .serveStale, .complete: Issue.record("\(stored.fields) \(request.headerFields) \(now)")
      case .revalidate, .fetch, .gatewayTimeout: break
      }
      Self.check(policy.fallback(to: stored, for: request, at: now, lifetime: rule) == nil, stored, now)
      let decision = policy.decision(
        on: Sample.answer(503), to: request, for: request, validating: stored, at: now, lifetime: rule)
      Self.check(decision == .use, stored, now)
    }
    #expect(count > 2_000)
  }

  @Test(
    "no status or extent from outside stops a decision, and none gives bytes that are not stored",
    arguments: [
      Extent.whole(-1), .whole(.min), .whole(.max), .part(0..<10, of: -1), .part(0..<10, of: .min),
      .part(0..<5, of: .min),
      .part(0..<10, of: 5), .part(8..<10, of: 5), .part(.min..<1, of: nil), .part(.min ..< .min, of: .min),
      .part(.min ..< .max, of: .max), .part(-5..<5, of: 10), .part(5..<5, of: 10), .part(0..<Int64.max, of: .max),
    ])
  func hostileExtents(_ extent: Extent) {
    let asked: [HTTPFields] = [
      [:], [.range: "bytes=-5"], [.range: "bytes=0-"], [.range: "bytes=3-7"], [.range: "bytes=0-9223372036854775806"],
    ]
    #expect(extent.count >= 0)
    for status in [200, 206, 304, 404, 999, 1000, 99, 0, -1, .max, .min] {
      let stored = Sample.stored(status: status, extent: extent)
      #expect((100...999).contains(stored.status) && stored.head.status.code == stored.status)
      for request in asked.map({ Sample.request($0) }) {
        let (head, bytes) = stored.response(to: request, age: 1)
        #expect((bytes ?? 0..<0).clamped(to: 0..<stored.extent.count) == bytes ?? 0..<0)
        #expect(head.headerFields[.contentRange].map { $0.hasPrefix("bytes */") || ContentRange($0) != nil } ?? true)
        for mode in Self.modes {
          let policy = CachePolicy(mode: mode)
          let decision = policy.decision(for: request, among: [stored], at: Sample.time(1))
          if case .serve = decision { #expect(stored.extent == extent || !stored.extent.isWhole) }
          for range in ["bytes 5-9/*", "bytes 10-19/*", "bytes 0-9223372036854775806/*"] {
            _ = policy.decision(
              on: Sample.answer(206, [.contentRange: range, .eTag: "\"v\""]), to: Sample.request([.range: "bytes=5-"]),
              for: Sample.request(), validating: stored, at: Sample.time(1))
          }
        }
      }
    }
  }

  @Test("a range in a representation of a negative size has no bytes")
  func negativeSizes() {
    for size in [Int64.min, -1] {
      for range in [RequestedRange.from(0), .between(0, 9), .between(0, .max), .suffix(5), .suffix(.max)] {
        #expect(range.resolved(in: size) == nil)
      }
    }
  }

  @Test("every date with a four-digit year is read as it was written")
  func fourDigitYears() async {
    var random = SeededGenerator(seed: 1994)
    for round in 0..<5_000 {
      await giveWay(round)
      let date = HTTPDate(secondsSinceEpoch: .random(in: -62_167_219_200...253_402_300_799, using: &random))
      if HTTPDate(date.description, now: Self.time(&random)) != date { Issue.record("\(date)") }
    }
  }

  @Test("a date that was read is written as the same date")
  func readDatesRoundTrip() {
    let now = Sample.time(0)
    for text in Self.texts {
      guard let date = HTTPDate(text, now: now) else { continue }
      #expect(HTTPDate(date.description, now: now) == date)
    }
  }
}
