import HTTPTypes
import Testing

@testable import HTTPCaching

/// What is stored when the origin fails.
struct FailureTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let response: String
    let request: String
    let age: Int64
    let privately: String
    let shared: String

    init(_ response: String, _ request: String, at age: Int64, _ outcome: String, shared: String? = nil) {
      self.response = response
      self.request = request
      self.age = age
      privately = outcome
      self.shared = shared ?? outcome
    }

    var testDescription: String { "[\(response)] asked [\(request)] at \(age)" }
  }

  /// RFC 5861 §4, RFC 9111 §4.2.4.
  @Test(arguments: [
    Row("max-age=60, stale-if-error=40", "", at: 100, "serveStale ifError"),
    Row("max-age=60, stale-if-error=40", "", at: 101, "use"),
    Row("max-age=60, stale-if-error=40", "max-age=1", at: 30, "serveStale ifError"),
    Row("max-age=60", "", at: 61, "use"),
    Row("max-age=60", "stale-if-error=40", at: 100, "serveStale ifError"),
    Row("max-age=60", "stale-if-error=40", at: 101, "use"),
    Row("max-age=60, stale-if-error=40", "stale-if-error=0", at: 61, "use"),
    Row("max-age=60, stale-if-error=x", "", at: 61, "use"),
    Row("max-age=60, stale-if-error=40, must-revalidate", "", at: 61, "use"),
    Row("max-age=60, stale-if-error=40, no-cache", "", at: 61, "use"),
    Row("max-age=60, stale-if-error=40, proxy-revalidate", "", at: 61, "serveStale ifError", shared: "use"),
    Row("max-age=60, stale-if-error=40, s-maxage=60", "", at: 61, "serveStale ifError", shared: "use"),
  ])
  func aStaleAnswerStandsForAnErrorWhereThatIsAllowed(_ row: Row) {
    for (mode, expected) in [(CachePolicy.Mode.private, row.privately), (.shared, row.shared)] {
      let stored = Sample.stored(row.response, mode: mode)
      let original = Sample.asking(row.request)
      for status in [500, 502, 503, 504] {
        let decision = CachePolicy(mode: mode).decision(
          on: Sample.answer(status), to: stored.validators.applied(to: original), for: original, validating: stored,
          at: Sample.time(row.age))
        #expect(decision.summary == expected, "\(mode) \(status)")
      }
    }
  }

  /// RFC 9111 §4.2.4, §5.2.2.2.
  @Test(arguments: [
    Row("max-age=60", "", at: 9999, "disconnected"),
    Row("max-age=60, stale-if-error=40", "", at: 100, "ifError"),
    Row("max-age=60, stale-if-error=40", "", at: 101, "nothing"),
    Row("max-age=60", "max-stale", at: 9999, "disconnected"),
    Row("max-age=60", "no-cache", at: 1, "nothing"),
    Row("max-age=60", "max-age=5", at: 6, "nothing"),
    Row("max-age=60", "min-fresh=5", at: 60, "nothing"),
    Row("max-age=60, must-revalidate", "", at: 61, "nothing"),
    Row("max-age=60, must-revalidate", "max-stale", at: 61, "nothing"),
    Row("no-cache", "", at: 1, "nothing"),
    Row("no-cache=\"x\"", "", at: 1, "disconnected"),
    Row("max-age=60, proxy-revalidate", "", at: 61, "disconnected", shared: "nothing"),
    Row("max-age=60, s-maxage=60", "", at: 61, "disconnected", shared: "nothing"),
  ])
  func aDisconnectedCacheUsesWhatItMay(_ row: Row) {
    for (mode, expected) in [(CachePolicy.Mode.private, row.privately), (.shared, row.shared)] {
      let reason = CachePolicy(mode: mode).staleAnswer(
        to: Sample.asking(row.request), from: Sample.stored(row.response, mode: mode), at: Sample.time(row.age))
      #expect((reason.map { "\($0)" } ?? "nothing") == expected, "\(mode)")
    }
  }

  @Test func aPartAndWhatWasInvalidatedNeverStandForAnError() {
    let control = "max-age=60, stale-if-error=99"
    let policy = CachePolicy(mode: .private)
    let cases = [
      Sample.stored(control, extent: .part(0..<50, of: 100)), Sample.stored(control, isInvalidated: true),
    ]
    for stored in cases {
      let request = Sample.request()
      let decision = policy.decision(
        on: Sample.answer(503), to: request, for: request, validating: stored, at: Sample.time(61))
      #expect(decision == .use)
      #expect(policy.staleAnswer(to: request, from: stored, at: Sample.time(61)) == nil)
    }
  }

  @Test func whatTellsNeitherALifetimeNorAValidatorIsNotUsedByItself() {
    let policy = CachePolicy(mode: .private)
    let nothing = Sample.stored("", [:])
    #expect(policy.staleAnswer(to: Sample.request(), from: nothing, at: Sample.time(1)) == nil)
    #expect(policy.staleAnswer(to: Sample.request(), from: Sample.stored(""), at: Sample.time(1)) == .disconnected)
  }
}
