import HTTPTypes
import Testing

@testable import HTTPCaching

struct DecisionTests {
  /// The fields of a response and of a request, the response's age, and the decision.
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
  @Test(
    "directives of the response decide how long it may be used",
    arguments: [
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
  func responseDirectives(_ row: Row) { Self.check(row) }

  /// RFC 9111 §5.2.1.1, §5.2.1.2, §5.2.1.3, §5.2.1.4.
  @Test(
    "directives of the request decide what it accepts",
    arguments: [
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
  func requestWishes(_ row: Row) { Self.check(row) }

  /// RFC 9111 §4.2.4, §5.2.2.2, §5.2.2.8, §5.2.2.10.
  @Test(
    "a stale response is not used if its directives forbid that",
    arguments: [
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
  func staleForbidden(_ row: Row) { Self.check(row) }

  /// RFC 9111 §5.2.2.3, §5.2.2.5, §5.2.2.7: a confirmation may have brought such a directive.
  @Test(
    "a response that must not be stored any more is validated before its use",
    arguments: [
      Row("max-age=60, no-store", "", at: 1, "revalidate responseNoCache"),
      Row("max-age=60, no-store", "max-stale", at: 61, "revalidate responseNoCache"),
      Row("max-age=60, no-store, must-understand", "", at: 1, "serve fresh"),
      Row("max-age=60, private", "", at: 1, "serve fresh", shared: "revalidate responseNoCache"),
      Row("max-age=60, private=\"x-a\"", "", at: 1, "serve fresh"),
    ])
  func noLongerStorable(_ row: Row) {
    Self.check(row)
    for mode in [CachePolicy.Mode.private, .shared] {
      let policy = CachePolicy(mode: mode)
      let stored = Sample.stored(row.response, mode: mode)
      let isServed = (mode == .private ? row.privately : row.shared) == "serve fresh"
      #expect(policy.mayBeKept(stored) == isServed)
      #expect((policy.fallback(to: stored, for: Sample.request(), at: Sample.time(61)) != nil) == isServed)
    }
  }

  /// RFC 5861 §3; RFC 9111 §5.2.1.1.
  @Test(
    "a stale response may be used while it is revalidated",
    arguments: [
      Row("max-age=60, stale-while-revalidate=30", "", at: 59, "serve fresh"),
      Row("max-age=60, stale-while-revalidate=30", "", at: 90, "serveStale"),
      Row("max-age=60, stale-while-revalidate=30", "", at: 91, "revalidate stale"),
      Row("max-age=60, stale-while-revalidate=30", "max-age=100", at: 70, "revalidate stale"),
      Row("max-age=60, stale-while-revalidate=30", "max-age=0", at: 70, "revalidate requestMaxAge"),
      Row("max-age=60, stale-while-revalidate=30", "min-fresh=1", at: 70, "revalidate requestMinFresh"),
      Row("max-age=60, stale-while-revalidate=30", "no-cache", at: 70, "revalidate requestNoCache"),
      Row("max-age=60, stale-while-revalidate=30", "max-stale", at: 70, "serve requestAllowsStale"),
    ])
  func staleWhileRevalidate(_ row: Row) { Self.check(row) }

  /// RFC 9111 §5.2.1.7.
  @Test(
    "a request with only-if-cached never goes to the origin",
    arguments: [
      Row("max-age=60", "only-if-cached", at: 59, "serve fresh"),
      Row("max-age=60", "only-if-cached", at: 60, "gatewayTimeout stale"),
      Row("max-age=60", "only-if-cached, max-stale", at: 60, "serve requestAllowsStale"),
      Row("max-age=60, no-cache", "only-if-cached", at: 1, "gatewayTimeout responseNoCache"),
      Row("max-age=60", "only-if-cached, max-age=5", at: 6, "gatewayTimeout requestMaxAge"),
    ])
  func onlyIfCached(_ row: Row) { Self.check(row) }

  @Test("only-if-cached without a stored response is a gateway timeout")
  func onlyIfCachedMiss() {
    let request = Sample.asking("only-if-cached")
    for mode in [CachePolicy.Mode.private, .shared] {
      let policy = CachePolicy(mode: mode)
      #expect(policy.decision(for: request, among: [], at: Sample.time(0)).summary == "gatewayTimeout notStored")
      #expect(policy.decision(for: Sample.request(), among: [], at: Sample.time(0)).summary == "fetch notStored")
    }
  }

  /// RFC 9111 §5.4.
  @Test("Pragma applies only without Cache-Control")
  func pragma() throws {
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

// MARK: - Selection among variants

struct SelectionTests {
  private static let policy = CachePolicy(mode: .private)

  private static func decide(_ request: HTTPRequest, _ stored: [StoredResponse]) -> CacheDecision {
    policy.decision(for: request, among: stored, at: Sample.time(1))
  }

  private static func key(_ language: String) throws -> VaryKey {
    try #require(VaryKey(vary: [.vary: "Accept-Language"], request: [.acceptLanguage: language]))
  }

  /// RFC 9111 §4.1.
  @Test("the variant that matches the request is selected")
  func matchingVariant() throws {
    let stored = [
      Sample.stored(id: 1, vary: try Self.key("de")), Sample.stored(id: 2, vary: try Self.key("en")),
    ]
    #expect(Self.decide(Sample.request([.acceptLanguage: "de"]), stored).stored?.id == 1)
    #expect(Self.decide(Sample.request([.acceptLanguage: "EN"]), stored).stored?.id == 2)
    #expect(Self.decide(Sample.request([.acceptLanguage: "fr"]), stored).summary == "fetch variant")
    #expect(Self.decide(Sample.request(), stored).summary == "fetch variant")
  }

  /// RFC 9111 §4: by `Date`, not by arrival.
  @Test("the most recent of several matching responses is selected")
  func mostRecent() {
    let early: HTTPFields = [.date: Sample.time(-50).description]
    let late: HTTPFields = [.date: Sample.time(-10).description]
    let stored = [
      Sample.stored("max-age=99", late, came: -9, id: 1), Sample.stored("max-age=99", early, came: 0, id: 2),
    ]
    #expect(Self.decide(Sample.request(), stored).stored?.id == 1)
    #expect(Self.decide(Sample.request(), stored.reversed()).stored?.id == 1)
  }

  @Test("with equal dates, the response that arrived later is selected")
  func laterArrival() {
    let same: HTTPFields = [.date: Sample.time(-50).description]
    let stored = [
      Sample.stored("max-age=99", same, came: 0, id: 1), Sample.stored("max-age=99", same, came: -9, id: 2),
    ]
    #expect(Self.decide(Sample.request(), stored).stored?.id == 1)
    #expect(Self.decide(Sample.request(), stored.reversed()).stored?.id == 1)
  }

  /// RFC 9111 §4.1: a default answer that forgot its `Vary` does not hide the better ones.
  @Test("a response with Vary is preferred to a later one without")
  func varyPreferred() throws {
    let stored = [
      Sample.stored(came: -5, id: 1, vary: try Self.key("de")), Sample.stored(came: 0, id: 2),
    ]
    #expect(Self.decide(Sample.request([.acceptLanguage: "de"]), stored).stored?.id == 1)
    #expect(Self.decide(Sample.request([.acceptLanguage: "fr"]), stored).stored?.id == 2)
  }

  /// RFC 9111 §3.3.
  @Test(
    "a part answers only ranges within it",
    arguments: [
      ("bytes=0-9", "serve fresh"), ("bytes=40-49", "serve fresh"), ("bytes=45-50", "fetch partial"),
      ("bytes=60-", "fetch partial"), ("bytes=-1", "fetch partial"), ("bytes=0-9,20-29", "fetch partial"),
    ])
  func rangesOfParts(_ range: String, _ summary: String) {
    let part = Sample.stored(extent: .part(0..<50, of: 100))
    #expect(Self.decide(Sample.request([.range: range]), [part]).summary == summary)
  }

  @Test("a part does not answer a range with If-Range for other content")
  func ifRangeOfParts() {
    let part = Sample.stored(extent: .part(0..<50, of: 100))
    let request = Sample.request([.range: "bytes=0-9", .ifRange: "\"w\""])
    #expect(Self.decide(request, [part]).summary == "fetch partial")
  }

  /// RFC 9111 §3.3, RFC 9110 §13.1.5.
  @Test("the rest of a stored beginning is requested with its strong ETag")
  func restOfBeginning() throws {
    let part = Sample.stored(extent: .part(0..<50, of: 100))
    let decision = Self.decide(Sample.request([.ifNoneMatch: "\"mine\""]), [part])
    #expect(decision.summary == "complete")
    let sent = try #require(decision.sent).headerFields
    #expect(sent[.range] == "bytes=50-")
    #expect(sent[.ifRange] == "\"v\"")
    #expect(sent[.ifNoneMatch] == nil)
  }

  @Test(
    "without a beginning and a strong ETag, the whole is requested",
    arguments: [
      Sample.stored("max-age=60", [.eTag: "W/\"v\""], extent: .part(0..<50, of: 100)),
      Sample.stored("max-age=60", [.eTag: "v"], extent: .part(0..<50, of: 100)),
      Sample.stored("max-age=60", [:], extent: .part(0..<50, of: 100)),
      Sample.stored(extent: .part(10..<50, of: 100)),
      Sample.stored(extent: .part(0..<50, of: 100), isInvalidated: true),
    ])
  func wholeInsteadOfRest(_ part: StoredResponse) {
    #expect(Self.decide(Sample.request(), [part]).summary == "fetch partial")
  }

  @Test("a part answers neither HEAD nor only-if-cached")
  func partsAndOnlyIfCached() {
    let part = Sample.stored(extent: .part(0..<50, of: 100))
    #expect(Self.decide(Sample.request(method: .head), [part]).summary == "fetch partial")
    #expect(Self.decide(Sample.asking("only-if-cached"), [part]).summary == "gatewayTimeout partial")
  }

  @Test("a whole response is preferred to a part")
  func wholePreferred() {
    let stored = [Sample.stored(id: 1), Sample.stored(extent: .part(0..<50, of: 100), came: 1, id: 2)]
    #expect(Self.decide(Sample.request(), stored).stored?.id == 1)
  }
}

// MARK: - Forwarded requests

/// Requests to the origin, and the reasons for them.
struct ForwardingTests {
  private static let policy = CachePolicy(mode: .private)

  private static func decide(
    _ request: HTTPRequest, _ stored: StoredResponse..., at seconds: Int64 = 1, lifetime: LifetimeRule = .server
  ) -> CacheDecision {
    policy.decision(for: request, among: stored, at: Sample.time(seconds), lifetime: lifetime)
  }

  /// RFC 9111 §4: a cache writes through, whatever it has.
  @Test(
    "methods other than GET and HEAD go to the origin",
    arguments: [HTTPRequest.Method.post, .put, .delete, .patch, .options])
  func otherMethods(_ method: HTTPRequest.Method) {
    for control in ["max-stale", "only-if-cached"] {
      let request = Sample.request([.cacheControl: control], method: method)
      #expect(Self.decide(request, Sample.stored()) == .fetch(request, because: .method))
    }
  }

  @Test("HEAD is answered from a stored response to GET")
  func headFromGet() {
    #expect(Self.decide(Sample.request(method: .head), Sample.stored()).summary == "serve fresh")
  }

  /// RFC 9111 §4.3.2.
  @Test("If-Match and If-Unmodified-Since go to the origin", arguments: [HTTPField.Name.ifMatch, .ifUnmodifiedSince])
  func originConditions(_ name: HTTPField.Name) {
    let request = Sample.request([name: "\"v\""])
    #expect(Self.decide(request, Sample.stored()) == .fetch(request, because: .precondition))
  }

  /// RFC 9111 §4.3.1.
  @Test(
    "a validation sends all validators in place of the client's conditions",
    arguments: [
      ([.eTag: "\"v\""], "\"v\"", nil), ([.eTag: "W/\"v\""], "W/\"v\"", nil),
      ([.lastModified: "Sun, 06 Nov 1994 08:00:00 GMT"], nil, "Sun, 06 Nov 1994 08:00:00 GMT"),
      (
        [.eTag: "\"v\"", .lastModified: "Sun, 06 Nov 1994 08:00:00 GMT"], "\"v\"", "Sun, 06 Nov 1994 08:00:00 GMT"
      ),
    ] as [(HTTPFields, String?, String?)])
  func validationRequest(
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

  @Test("without a validator, the client's own conditions go to the origin")
  func clientConditions() {
    let request = Sample.request([.ifNoneMatch: "\"mine\""])
    #expect(Self.decide(request, Sample.stored("max-age=1", [:])) == .fetch(request, because: .stale))
    #expect(Self.decide(request, Sample.stored("", [:])) == .fetch(request, because: .noFreshness))
  }

  /// `If-None-Match: *` would be answered by 304 whatever the origin has.
  @Test("an ETag with another meaning in If-None-Match is ignored", arguments: ["*", "", "\"a\", \"b\"", ",\"a\""])
  func ambiguousTag(_ tag: String) {
    #expect(Validators(of: [.eTag: tag]).isEmpty)
    #expect(Self.decide(Sample.request(), Sample.stored("max-age=1", [.eTag: tag])).summary == "fetch stale")
  }

  /// A 304 to the client's condition would say nothing of what is stored.
  @Test("a background revalidation does not use the client's conditions")
  func backgroundConditions() throws {
    let request = Sample.request([.ifNoneMatch: "\"mine\"", .range: "bytes=0-1", .ifRange: "\"mine\""])
    let decision = Self.decide(request, Sample.stored("max-age=1, stale-while-revalidate=9", [:]), at: 2)
    #expect(decision.summary == "serveStale")
    let sent = try #require(decision.sent).headerFields
    #expect(!sent.contains(.ifNoneMatch) && !sent.contains(.range) && !sent.contains(.ifRange))
  }

  /// RFC 9111 §4.4.
  @Test("an invalidated response is validated although it is fresh")
  func invalidatedResponse() {
    let stored = Sample.stored(isInvalidated: true)
    #expect(Self.decide(Sample.request(), stored).summary == "revalidate invalidated")
    #expect(Self.decide(Sample.asking("max-stale"), stored, at: 99).summary == "revalidate invalidated")
  }

  @Test("the caller's lifetime rule replaces or limits that of the server")
  func lifetimeRule() {
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
    "every reason to forward has a clause and a Cache-Status token",
    arguments: [
      (ForwardReason.method, "RFC 9111 §4", "method"), (.notStored, "RFC 9111 §4", "uri-miss"),
      (.variant, "RFC 9111 §4.1", "vary-miss"), (.stale, "RFC 9111 §4.2", "stale"),
      (.invalidated, "RFC 9111 §4.4", "stale"), (.noFreshness, "RFC 9111 §4.2", "stale"),
      (.responseNoCache, "RFC 9111 §5.2.2.4", "stale"), (.requestNoCache, "RFC 9111 §5.2.1.4", "request"),
      (.requestMaxAge, "RFC 9111 §5.2.1.1", "request"), (.requestMinFresh, "RFC 9111 §5.2.1.3", "request"),
      (.partial, "RFC 9111 §3.3", "partial"), (.precondition, "RFC 9111 §4.3.2", "bypass"), (.asked, nil, "request"),
    ] as [(ForwardReason, String?, String)])
  func forwardReasons(_ reason: ForwardReason, _ clause: String?, _ token: String) {
    #expect(reason.clause == clause)
    #expect(reason.cacheStatusToken == token)
  }

  @Test(
    "every reason to serve has a clause",
    arguments: [
      (ServeReason.fresh, "RFC 9111 §4.2"), (.requestAllowsStale, "RFC 9111 §5.2.1.2"),
      (.whileRevalidating, "RFC 5861 §3"), (.ifError, "RFC 5861 §4"), (.disconnected, "RFC 9111 §4.2.4"),
      (.anyAge, nil),
    ] as [(ServeReason, String?)])
  func serveReasons(_ reason: ServeReason, _ clause: String?) {
    #expect(reason.clause == clause)
  }
}

// MARK: - Responses marked as stale

/// A response that was marked as stale is as stale as any other. RFC 9111 §4.2.4, RFC 5861.
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

  @Test(
    "a response that was marked as stale is used only where stale use is permitted",
    arguments: [
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
  func markedUse(_ row: Row) {
    let decision = CachePolicy(mode: .shared).decision(
      for: Sample.asking(row.request), among: [row.stored], at: Sample.time(row.age))
    #expect(decision.summary == row.decision)
  }

  @Test(
    "a response that was marked as stale replaces errors within its stale-if-error",
    arguments: [
      Row("max-age=60, stale-if-error=5", marked: 20, at: 25, "serveStale ifError"),
      Row("max-age=60, stale-if-error=5", marked: 20, at: 26, "use"),
      Row("max-age=60", marked: 20, at: 25, "use"),
    ])
  func markedErrors(_ row: Row) {
    let decision = CachePolicy(mode: .shared).decision(
      on: Sample.answer(503), to: row.stored.validators.applied(to: Sample.request()), for: Sample.request(),
      validating: row.stored, at: Sample.time(row.age))
    #expect(decision.summary == row.decision)
  }

  @Test("no lifetime rule makes a marked response fresh")
  func markedLifetime() {
    let stored = Row("max-age=60", marked: 20, at: 0, "").stored
    let freshness = Freshness(of: stored, at: Sample.time(30), rule: .exactly(1_000))
    #expect((freshness.isFresh, freshness.remaining, freshness.age) == (false, -10, 30))
  }
}
