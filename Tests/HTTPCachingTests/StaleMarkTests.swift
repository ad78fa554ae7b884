import HTTPTypes
import Testing

@testable import HTTPCaching

/// What somebody has marked as stale is as stale as any other. RFC 9111 §4.2.4, RFC 5861.
struct StaleMarkTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let response: String
    let request: String
    let marked: Int64
    let age: Int64
    let decision: String

    init(_ response: String, _ request: String = "", marked: Int64, at age: Int64, _ decision: String) {
      (self.response, self.request, self.marked, self.age, self.decision) = (response, request, marked, age, decision)
    }

    var testDescription: String { "[\(response)] asked [\(request)] marked at \(marked), at \(age)" }
    var stored: StoredResponse {
      Sample.stored(response, mode: .shared, staleSince: Sample.time(marked))
    }
  }

  @Test(arguments: [
    Row("max-age=60", marked: 20, at: 20, "revalidate stale"),
    Row("max-age=60", marked: 20, at: 30, "revalidate stale"),
    // A clock that was set back does not make it fresh.
    Row("max-age=60", marked: 20, at: 10, "revalidate stale"),
    Row("max-age=60, stale-while-revalidate=5", marked: 20, at: 25, "serveStale"),
    Row("max-age=60, stale-while-revalidate=5", marked: 20, at: 26, "revalidate stale"),
    // It was stale before.
    Row("max-age=10, stale-while-revalidate=5", marked: 14, at: 16, "revalidate stale"),
    Row("max-age=60, stale-while-revalidate=5, must-revalidate", marked: 20, at: 21, "revalidate stale"),
    Row("max-age=60", "max-stale=5", marked: 20, at: 25, "serve requestAllowsStale"),
    Row("max-age=60", "max-stale=5", marked: 20, at: 26, "revalidate stale"),
    Row("max-age=60", "min-fresh=1", marked: 20, at: 21, "revalidate requestMinFresh"),
  ])
  func itIsUsedWithoutAskingOnlyWhereThatIsAllowed(_ row: Row) {
    let decision = CachePolicy(mode: .shared).decision(
      for: Sample.asking(row.request), among: [row.stored], at: Sample.time(row.age))
    #expect(decision.summary == row.decision)
  }

  @Test(arguments: [
    Row("max-age=60, stale-if-error=5", marked: 20, at: 25, "serveStale ifError"),
    Row("max-age=60, stale-if-error=5", marked: 20, at: 26, "use"),
    Row("max-age=60", marked: 20, at: 25, "use"),
  ])
  func anErrorOfTheOriginIsAnsweredByItForAsLongAsItSays(_ row: Row) {
    let decision = CachePolicy(mode: .shared).decision(
      on: Sample.answer(503), to: row.stored.validators.applied(to: Sample.request()), for: Sample.request(),
      validating: row.stored, at: Sample.time(row.age))
    #expect(decision.summary == row.decision)
  }

  @Test func noRuleOfTheClientMakesItFresh() {
    let stored = Row("max-age=60", marked: 20, at: 0, "").stored
    let freshness = Freshness(of: stored, at: Sample.time(30), rule: .exactly(1_000))
    #expect((freshness.isFresh, freshness.remaining, freshness.age) == (false, -10, 30))
  }
}
