import HTTPTypes
import Testing

@testable import HTTPCaching

/// What goes to the origin, and why.
struct ForwardingTests {
  private static let policy = CachePolicy(mode: .private)

  private static func decide(
    _ request: HTTPRequest, _ stored: StoredResponse..., at seconds: Int64 = 1, lifetime: LifetimeRule = .server
  ) -> CacheDecision {
    policy.decision(for: request, among: stored, at: Sample.time(seconds), lifetime: lifetime)
  }

  /// RFC 9111 §4: a cache writes through, whatever it has.
  @Test(arguments: [HTTPRequest.Method.post, .put, .delete, .patch, .options])
  func otherMethodsGoToTheOrigin(_ method: HTTPRequest.Method) {
    for control in ["max-stale", "only-if-cached"] {
      let request = Sample.request([.cacheControl: control], method: method)
      #expect(Self.decide(request, Sample.stored()) == .fetch(request, because: .method))
    }
  }

  @Test func aHeadIsAnsweredFromWhatIsStoredForGet() {
    #expect(Self.decide(Sample.request(method: .head), Sample.stored()).summary == "serve fresh")
  }

  /// RFC 9111 §4.3.2.
  @Test(arguments: [HTTPField.Name.ifMatch, .ifUnmodifiedSince])
  func conditionsThatOnlyAnOriginCanTellGoThere(_ name: HTTPField.Name) {
    let request = Sample.request([name: "\"v\""])
    #expect(Self.decide(request, Sample.stored()) == .fetch(request, because: .precondition))
  }

  /// RFC 9111 §4.3.1.
  @Test(
    arguments: [
      ([.eTag: "\"v\""], "\"v\"", nil), ([.eTag: "W/\"v\""], "W/\"v\"", nil),
      ([.lastModified: "Sun, 06 Nov 1994 08:00:00 GMT"], nil, "Sun, 06 Nov 1994 08:00:00 GMT"),
      (
        [.eTag: "\"v\"", .lastModified: "Sun, 06 Nov 1994 08:00:00 GMT"], "\"v\"", "Sun, 06 Nov 1994 08:00:00 GMT"
      ),
    ] as [(HTTPFields, String?, String?)])
  func aValidationSendsEveryValidatorInsteadOfTheClientsConditions(
    _ fields: HTTPFields, _ tag: String?, _ date: String?
  ) throws {
    let own: HTTPFields = [.ifNoneMatch: "\"mine\"", .ifModifiedSince: "Mon, 07 Nov 1994 08:00:00 GMT"]
    let decision = Self.decide(Sample.asking("no-cache", own), Sample.stored("max-age=9", fields))
    #expect(decision.summary == "revalidate requestNoCache")
    let sent = try #require(decision.sent).headerFields
    #expect(sent[.ifNoneMatch] == tag)
    #expect(sent[.ifModifiedSince] == date)
    #expect(sent[.cacheControl] == "no-cache")
  }

  @Test func withoutAValidatorTheClientsOwnConditionsGoToTheOrigin() {
    let request = Sample.request([.ifNoneMatch: "\"mine\""])
    #expect(Self.decide(request, Sample.stored("max-age=1", [:])) == .fetch(request, because: .stale))
    #expect(Self.decide(request, Sample.stored("", [:])) == .fetch(request, because: .noFreshness))
  }

  /// `If-None-Match: *` would be answered by 304 whatever the origin has.
  @Test(arguments: ["*", "", "\"a\", \"b\"", ",\"a\""])
  func anEntityTagThatWouldAskForSomethingElseIsNone(_ tag: String) {
    #expect(Validators(of: [.eTag: tag]).isEmpty)
    #expect(Self.decide(Sample.request(), Sample.stored("max-age=1", [.eTag: tag])).summary == "fetch stale")
  }

  /// A 304 to the client's condition would say nothing of what is stored.
  @Test func whatIsRefreshedBehindAStaleAnswerIsNotAskedAboutWithTheClientsConditions() throws {
    let request = Sample.request([.ifNoneMatch: "\"mine\"", .range: "bytes=0-1", .ifRange: "\"mine\""])
    let decision = Self.decide(request, Sample.stored("max-age=1, stale-while-revalidate=9", [:]), at: 2)
    #expect(decision.summary == "serveStale")
    let sent = try #require(decision.sent).headerFields
    #expect(!sent.contains(.ifNoneMatch) && !sent.contains(.range) && !sent.contains(.ifRange))
  }

  /// RFC 9111 §4.4.
  @Test func whatWasInvalidatedIsAskedAboutThoughItIsFresh() {
    let stored = Sample.stored(isInvalidated: true)
    #expect(Self.decide(Sample.request(), stored).summary == "revalidate invalidated")
    #expect(Self.decide(Sample.asking("max-stale"), stored, at: 99).summary == "revalidate invalidated")
  }

  @Test func theCallersOwnLifetimeReplacesOrLimitsTheServers() {
    let request = Sample.request()
    #expect(Self.decide(request, Sample.stored(), at: 30, lifetime: .atMost(20)).summary == "revalidate stale")
    #expect(Self.decide(request, Sample.stored(), at: 70, lifetime: .atMost(200)).summary == "revalidate stale")
    #expect(Self.decide(request, Sample.stored(), at: 70, lifetime: .exactly(200)).summary == "serve fresh")
    #expect(Self.decide(request, Sample.stored(), at: 70, lifetime: .exactly(.min)).summary == "revalidate stale")
    #expect(Self.decide(request, Sample.stored(), at: 70, lifetime: .atMost(.min)).summary == "revalidate stale")
    #expect(Self.decide(request, Sample.stored(), at: 70, lifetime: .exactly(.max)).summary == "serve fresh")
    let forbidden = Sample.stored("no-cache")
    #expect(Self.decide(request, forbidden, lifetime: .exactly(200)).summary == "revalidate responseNoCache")
  }

  @Test(
    arguments: [
      (ForwardReason.method, "RFC 9111 §4", "method"), (.notStored, "RFC 9111 §4", "uri-miss"),
      (.variant, "RFC 9111 §4.1", "vary-miss"), (.stale, "RFC 9111 §4.2", "stale"),
      (.invalidated, "RFC 9111 §4.4", "stale"), (.noFreshness, "RFC 9111 §4.2", "stale"),
      (.responseNoCache, "RFC 9111 §5.2.2.4", "stale"), (.requestNoCache, "RFC 9111 §5.2.1.4", "request"),
      (.requestMaxAge, "RFC 9111 §5.2.1.1", "request"), (.requestMinFresh, "RFC 9111 §5.2.1.3", "request"),
      (.partial, "RFC 9111 §3.3", "partial"), (.precondition, "RFC 9111 §4.3.2", "bypass"), (.asked, nil, "request"),
    ] as [(ForwardReason, String?, String)])
  func everyReasonToForwardNamesItsRuleAndItsToken(_ reason: ForwardReason, _ clause: String?, _ token: String) {
    #expect(reason.clause == clause)
    #expect(reason.cacheStatusToken == token)
  }

  @Test(
    arguments: [
      (ServeReason.fresh, "RFC 9111 §4.2"), (.requestAllowsStale, "RFC 9111 §5.2.1.2"),
      (.whileRevalidating, "RFC 5861 §3"), (.ifError, "RFC 5861 §4"), (.disconnected, "RFC 9111 §4.2.4"),
      (.anyAge, nil),
    ] as [(ServeReason, String?)])
  func everyReasonToServeNamesItsRule(_ reason: ServeReason, _ clause: String?) {
    #expect(reason.clause == clause)
  }
}
