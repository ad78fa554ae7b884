import HTTPTypes
import Testing

@testable import HTTPCaching

struct DecisionTests {
  /// What the response and the request say of caching, the response's age, and what follows.
  struct Row: Sendable, CustomTestStringConvertible {
    let response: String
    let request: String
    let age: Int64
    let privately: String
    let shared: String

    init(_ response: String, _ request: String, at age: Int64, _ decision: String, shared: String? = nil) {
      self.response = response
      self.request = request
      self.age = age
      privately = decision
      self.shared = shared ?? decision
    }

    var testDescription: String { "[\(response)] asked [\(request)] at \(age)" }
  }

  private static func check(_ row: Row) {
    for (mode, expected) in [(CachePolicy.Mode.private, row.privately), (.shared, row.shared)] {
      let decision = CachePolicy(mode: mode).decision(
        for: Sample.asking(row.request), among: [Sample.stored(row.response, mode: mode)], at: Sample.time(row.age))
      #expect(decision.summary == expected, "\(mode)")
    }
  }

  /// RFC 9111 §4.2, §4.2.1, §5.2.2.1, §5.2.2.4, §5.2.2.10.
  @Test(arguments: [
    Row("max-age=60", "", at: 59, "serve fresh"),
    Row("max-age=60", "", at: 60, "revalidate stale"),
    Row("max-age=10, s-maxage=60", "", at: 30, "revalidate stale", shared: "serve fresh"),
    Row("max-age=60, s-maxage=10", "", at: 30, "serve fresh", shared: "revalidate stale"),
    Row("no-cache, max-age=60", "", at: 1, "revalidate responseNoCache"),
    Row("no-cache=\"x-a\", max-age=60", "", at: 1, "serve fresh"),
    Row("no-cache must-revalidate, max-age=60", "", at: 1, "revalidate responseNoCache"),
    Row("max-age=60, must-revalidate", "", at: 59, "serve fresh"),
    Row("max-age=60, immutable", "", at: 60, "revalidate stale"),
    Row("", "", at: 1, "revalidate stale"),
  ])
  func theResponseSaysHowLongItMayBeUsed(_ row: Row) { Self.check(row) }

  /// RFC 9111 §5.2.1.1, §5.2.1.2, §5.2.1.3, §5.2.1.4.
  @Test(arguments: [
    Row("max-age=60", "no-cache", at: 1, "revalidate requestNoCache"),
    Row("max-age=60", "max-age=10", at: 10, "serve fresh"),
    Row("max-age=60", "max-age=10", at: 11, "revalidate requestMaxAge"),
    Row("max-age=60", "max-age=x", at: 1, "revalidate requestMaxAge"),
    Row("max-age=60", "max-age=10, max-stale=5", at: 15, "serve fresh"),
    Row("max-age=60", "max-age=10, max-stale=5", at: 16, "revalidate requestMaxAge"),
    Row("max-age=60", "min-fresh=20", at: 40, "serve fresh"),
    Row("max-age=60", "min-fresh=20", at: 41, "revalidate requestMinFresh"),
    Row("max-age=60", "min-fresh=20, max-stale", at: 41, "revalidate requestMinFresh"),
    Row("max-age=60", "max-stale", at: 9999, "serve requestAllowsStale"),
    Row("max-age=60", "max-stale=10", at: 70, "serve requestAllowsStale"),
    Row("max-age=60", "max-stale=10", at: 71, "revalidate stale"),
    Row("", "max-stale", at: 1, "revalidate stale"),
  ])
  func theRequestSaysWhatItAccepts(_ row: Row) { Self.check(row) }

  /// RFC 9111 §4.2.4, §5.2.2.2, §5.2.2.8, §5.2.2.10.
  @Test(arguments: [
    Row("max-age=60, must-revalidate", "max-stale", at: 61, "revalidate stale"),
    Row("max-age=60, no-cache", "max-stale", at: 61, "revalidate responseNoCache"),
    Row(
      "max-age=60, proxy-revalidate", "max-stale", at: 61, "serve requestAllowsStale", shared: "revalidate stale"),
    Row(
      "max-age=60, s-maxage=60", "max-stale", at: 61, "serve requestAllowsStale", shared: "revalidate stale"),
    Row("max-age=60, must-revalidate, stale-while-revalidate=9", "", at: 61, "revalidate stale"),
    Row(
      "max-age=60, proxy-revalidate, stale-while-revalidate=9", "", at: 61, "serveStale", shared: "revalidate stale"),
    Row(
      "max-age=60, s-maxage=60, stale-while-revalidate=9", "", at: 61, "serveStale", shared: "revalidate stale"),
  ])
  func aStaleAnswerMayNotBeUsedWhereTheResponseForbidsIt(_ row: Row) { Self.check(row) }

  /// RFC 9111 §5.2.2.3, §5.2.2.5, §5.2.2.7: a confirmation may have brought such a directive.
  @Test(arguments: [
    Row("max-age=60, no-store", "", at: 1, "revalidate responseNoCache"),
    Row("max-age=60, no-store", "max-stale", at: 61, "revalidate responseNoCache"),
    Row("max-age=60, no-store, must-understand", "", at: 1, "serve fresh"),
    Row("max-age=60, private", "", at: 1, "serve fresh", shared: "revalidate responseNoCache"),
    Row("max-age=60, private=\"x-a\"", "", at: 1, "serve fresh"),
  ])
  func whatMayNotBeKeptIsNotUsedWithoutAsking(_ row: Row) {
    Self.check(row)
    for mode in [CachePolicy.Mode.private, .shared] {
      let policy = CachePolicy(mode: mode)
      let stored = Sample.stored(row.response, mode: mode)
      let isServed = (mode == .private ? row.privately : row.shared) == "serve fresh"
      #expect(policy.mayBeKept(stored) == isServed)
      #expect((policy.staleAnswer(to: Sample.request(), from: stored, at: Sample.time(61)) != nil) == isServed)
    }
  }

  /// RFC 5861 §3; RFC 9111 §5.2.1.1.
  @Test(arguments: [
    Row("max-age=60, stale-while-revalidate=30", "", at: 59, "serve fresh"),
    Row("max-age=60, stale-while-revalidate=30", "", at: 90, "serveStale"),
    Row("max-age=60, stale-while-revalidate=30", "", at: 91, "revalidate stale"),
    Row("max-age=60, stale-while-revalidate=30", "max-age=100", at: 70, "revalidate stale"),
    Row("max-age=60, stale-while-revalidate=30", "max-age=0", at: 70, "revalidate requestMaxAge"),
    Row("max-age=60, stale-while-revalidate=30", "min-fresh=1", at: 70, "revalidate requestMinFresh"),
    Row("max-age=60, stale-while-revalidate=30", "no-cache", at: 70, "revalidate requestNoCache"),
    Row("max-age=60, stale-while-revalidate=30", "max-stale", at: 70, "serve requestAllowsStale"),
  ])
  func aStaleAnswerMayBeUsedWhileItIsRevalidated(_ row: Row) { Self.check(row) }

  /// RFC 9111 §5.2.1.7.
  @Test(arguments: [
    Row("max-age=60", "only-if-cached", at: 59, "serve fresh"),
    Row("max-age=60", "only-if-cached", at: 60, "gatewayTimeout stale"),
    Row("max-age=60", "only-if-cached, max-stale", at: 60, "serve requestAllowsStale"),
    Row("max-age=60, no-cache", "only-if-cached", at: 1, "gatewayTimeout responseNoCache"),
    Row("max-age=60", "only-if-cached, max-age=5", at: 6, "gatewayTimeout requestMaxAge"),
  ])
  func aRequestThatWantsOnlyWhatIsStoredNeverGoesToTheOrigin(_ row: Row) { Self.check(row) }

  @Test func withNothingStoredARequestThatWantsOnlyThatFails() {
    let request = Sample.asking("only-if-cached")
    for mode in [CachePolicy.Mode.private, .shared] {
      let policy = CachePolicy(mode: mode)
      #expect(policy.decision(for: request, among: [], at: Sample.time(0)).summary == "gatewayTimeout notStored")
      #expect(policy.decision(for: Sample.request(), among: [], at: Sample.time(0)).summary == "fetch notStored")
    }
  }

  /// RFC 9111 §5.4.
  @Test func pragmaCountsOnlyWhereThereIsNoCacheControl() throws {
    let pragma = try #require(HTTPField.Name("Pragma"))
    let policy = CachePolicy(mode: .private)
    let stored = [Sample.stored()]
    let asked = Sample.request([pragma: "no-cache"])
    #expect(policy.decision(for: asked, among: stored, at: Sample.time(1)).summary == "revalidate requestNoCache")
    let both = Sample.asking("max-age=9", [pragma: "no-cache"])
    #expect(policy.decision(for: both, among: stored, at: Sample.time(1)).summary == "serve fresh")
    let other = Sample.request([pragma: "x-y"])
    #expect(policy.decision(for: other, among: stored, at: Sample.time(1)).summary == "serve fresh")
  }
}
