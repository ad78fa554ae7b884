import HTTPTypes
import Testing

@testable import HTTPCaching

struct SelectionTests {
  private static let policy = CachePolicy(mode: .private)

  private static func decide(_ request: HTTPRequest, _ stored: [StoredResponse]) -> CacheDecision {
    policy.decision(for: request, among: stored, at: Sample.time(1))
  }

  private static func key(_ language: String) throws -> VaryKey {
    try #require(VaryKey(vary: [.vary: "Accept-Language"], request: [.acceptLanguage: language]))
  }

  /// RFC 9111 §4.1.
  @Test func ofSeveralVariantsTheOneThatFitsIsChosen() throws {
    let stored = [
      Sample.stored(id: 1, vary: try Self.key("de")), Sample.stored(id: 2, vary: try Self.key("en")),
    ]
    #expect(Self.decide(Sample.request([.acceptLanguage: "de"]), stored).stored?.id == 1)
    #expect(Self.decide(Sample.request([.acceptLanguage: "EN"]), stored).stored?.id == 2)
    #expect(Self.decide(Sample.request([.acceptLanguage: "fr"]), stored).summary == "fetch variant")
    #expect(Self.decide(Sample.request(), stored).summary == "fetch variant")
  }

  /// RFC 9111 §4: by `Date`, not by arrival.
  @Test func ofSeveralThatFitTheMostRecentIsChosen() {
    let early: HTTPFields = [.date: Sample.time(-50).description]
    let late: HTTPFields = [.date: Sample.time(-10).description]
    let stored = [
      Sample.stored("max-age=99", late, came: -9, id: 1), Sample.stored("max-age=99", early, came: 0, id: 2),
    ]
    #expect(Self.decide(Sample.request(), stored).stored?.id == 1)
    #expect(Self.decide(Sample.request(), stored.reversed()).stored?.id == 1)
  }

  @Test func whereTheDateDoesNotTellTheLaterArrivalIsChosen() {
    let same: HTTPFields = [.date: Sample.time(-50).description]
    let stored = [
      Sample.stored("max-age=99", same, came: 0, id: 1), Sample.stored("max-age=99", same, came: -9, id: 2),
    ]
    #expect(Self.decide(Sample.request(), stored).stored?.id == 1)
    #expect(Self.decide(Sample.request(), stored.reversed()).stored?.id == 1)
  }

  /// RFC 9111 §4.1: a default answer that forgot its `Vary` does not hide the better ones.
  @Test func oneThatVariesIsPreferredToALaterOneThatDoesNot() throws {
    let stored = [
      Sample.stored(came: -5, id: 1, vary: try Self.key("de")), Sample.stored(came: 0, id: 2),
    ]
    #expect(Self.decide(Sample.request([.acceptLanguage: "de"]), stored).stored?.id == 1)
    #expect(Self.decide(Sample.request([.acceptLanguage: "fr"]), stored).stored?.id == 2)
  }

  /// RFC 9111 §3.3.
  @Test(arguments: [
    ("bytes=0-9", "serve fresh"), ("bytes=40-49", "serve fresh"), ("bytes=45-50", "fetch partial"),
    ("bytes=60-", "fetch partial"), ("bytes=-1", "fetch partial"), ("bytes=0-9,20-29", "fetch partial"),
  ])
  func aPartAnswersOnlyRangesThatLieWithinIt(_ range: String, _ summary: String) {
    let part = Sample.stored(extent: .part(0..<50, of: 100))
    #expect(Self.decide(Sample.request([.range: range]), [part]).summary == summary)
  }

  @Test func aPartAnswersNoRangeThatIsAskedOfOtherContent() {
    let part = Sample.stored(extent: .part(0..<50, of: 100))
    let request = Sample.request([.range: "bytes=0-9", .ifRange: "\"w\""])
    #expect(Self.decide(request, [part]).summary == "fetch partial")
  }

  /// RFC 9111 §3.3, RFC 9110 §13.1.5.
  @Test func theRestOfABeginningIsAskedForByItsStrongETag() throws {
    let part = Sample.stored(extent: .part(0..<50, of: 100))
    let decision = Self.decide(Sample.request([.ifNoneMatch: "\"mine\""]), [part])
    #expect(decision.summary == "complete")
    let sent = try #require(decision.sent).headerFields
    #expect(sent[.range] == "bytes=50-")
    #expect(sent[.ifRange] == "\"v\"")
    #expect(sent[.ifNoneMatch] == nil)
  }

  @Test(arguments: [
    Sample.stored("max-age=60", [.eTag: "W/\"v\""], extent: .part(0..<50, of: 100)),
    Sample.stored("max-age=60", [.eTag: "v"], extent: .part(0..<50, of: 100)),
    Sample.stored("max-age=60", [:], extent: .part(0..<50, of: 100)),
    Sample.stored(extent: .part(10..<50, of: 100)),
    Sample.stored(extent: .part(0..<50, of: 100), isInvalidated: true),
  ])
  func withoutABeginningOfContentThatIsKnownForSureTheWholeIsAskedFor(_ part: StoredResponse) {
    #expect(Self.decide(Sample.request(), [part]).summary == "fetch partial")
  }

  @Test func aPartAnswersNoHeadAndNoRequestThatWantsOnlyWhatIsStored() {
    let part = Sample.stored(extent: .part(0..<50, of: 100))
    #expect(Self.decide(Sample.request(method: .head), [part]).summary == "fetch partial")
    #expect(Self.decide(Sample.asking("only-if-cached"), [part]).summary == "gatewayTimeout partial")
  }

  @Test func aWholeIsPreferredToAPart() {
    let stored = [Sample.stored(id: 1), Sample.stored(extent: .part(0..<50, of: 100), came: 1, id: 2)]
    #expect(Self.decide(Sample.request(), stored).stored?.id == 1)
  }
}
