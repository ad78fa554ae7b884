import HTTPTypes
import Testing

@testable import HTTPCaching

struct ValidationTests {
  private static let policy = CachePolicy(mode: .private)
  private static let modified = "Sun, 06 Nov 1994 08:00:00 GMT"

  private static func decide(
    _ response: HTTPResponse, _ stored: StoredResponse, original: HTTPRequest = Sample.request(), at seconds: Int64 = 61
  ) -> ResponseDecision {
    policy.decision(
      on: response, to: stored.validators.applied(to: original), for: original, validating: stored,
      at: Sample.time(seconds))
  }

  /// RFC 9111 §4.3.4.
  @Test(
    arguments: [
      // The same validator, or none.
      ([.eTag: "\"v\""], [.eTag: "\"v\""], true), ([.eTag: "\"v\""], [:], true),
      ([.lastModified: modified], [.lastModified: modified], true), ([.lastModified: modified], [:], true),
      // A weak one stands for a strong one, but not the other way round.
      ([.eTag: "\"v\""], [.eTag: "W/\"v\""], true), ([.eTag: "W/\"v\""], [.eTag: "W/\"v\""], true),
      ([.eTag: "W/\"v\""], [.eTag: "\"v\""], false),
      // Another one.
      ([.eTag: "\"v\""], [.eTag: "\"w\""], false), ([.eTag: "W/\"v\""], [.eTag: "W/\"w\""], false),
      ([.lastModified: modified], [.lastModified: "Sun, 06 Nov 1994 07:59:59 GMT"], false),
      // An ETag decides alone where both have one; a date where not.
      ([.eTag: "\"v\"", .lastModified: modified], [.eTag: "\"v\"", .lastModified: "x"], true),
      ([.eTag: "\"v\"", .lastModified: modified], [.eTag: "\"w\"", .lastModified: modified], false),
      ([.eTag: "\"v\"", .lastModified: modified], [.lastModified: modified], true),
      ([.eTag: "\"v\"", .lastModified: modified], [.lastModified: "x"], false),
      ([.lastModified: modified], [.eTag: "\"w\"", .lastModified: modified], true),
      // A strong one that nothing stored has.
      ([.lastModified: modified], [.eTag: "\"w\""], false),
      // Characters that only look the same.
      ([.eTag: "\"\u{E9}\""], [.eTag: "\"e\u{301}\""], false),
    ] as [(HTTPFields, HTTPFields, Bool)])
  func aConfirmationUpdatesOnlyWhatHasTheSameValidator(_ old: HTTPFields, _ new: HTTPFields, _ isUpdated: Bool) {
    let decision = Self.decide(Sample.answer(304, new), Sample.stored("max-age=60", old))
    #expect(decision.summary == (isUpdated ? "freshen" : "askAgain"))
  }

  @Test func whatIsAskedAgainHasNoConditionsAndKeepsWhatTheClientSaysOfCaching() throws {
    let original = Sample.asking("no-store, no-transform", [.ifNoneMatch: "\"mine\"", .range: "bytes=0-"])
    guard
      case .askAgain(let request) = Self.decide(
        Sample.answer(304, [.eTag: "\"w\""]), Sample.stored(), original: original)
    else {
      Issue.record("not asked again")
      return
    }
    let fields = request.headerFields
    for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .range, .ifRange] { #expect(!fields.contains(name)) }
    let control = CacheControl(fields[values: .cacheControl])
    #expect(control.noStore && control.noTransform && control.noCache == .response)
  }

  /// A 304 speaks of what was asked about: of what the client has, where only that was.
  @Test func aConfirmationOfWhatTheClientHasDoesNotFreshenWhatIsStored() {
    let stored = Sample.stored("max-age=60", [:])
    let request = Sample.request([.ifNoneMatch: "\"mine\""])
    let decision = Self.policy.decision(
      on: Sample.answer(304), to: request, for: request, validating: stored, at: Sample.time(61))
    #expect(decision == .use)
  }

  @Test func aConfirmationThatNobodyAskedForIsNoAnswer() {
    let part = Sample.stored(extent: .part(0..<50, of: 100))
    var sent = Sample.request()
    sent.headerFields[.range] = "bytes=50-"
    for stored in [part, Sample.stored()] {
      let decision = Self.policy.decision(
        on: Sample.answer(304), to: sent, for: Sample.request(), validating: stored, at: Sample.time(61))
      #expect(decision.summary == "askAgain")
    }
  }

  /// RFC 9111 §4.3.3.
  @Test(arguments: [200, 204, 206, 301, 404, 410, 412, 416, 501, 505])
  func anyOtherAnswerIsTheAnswer(_ status: Int) {
    #expect(Self.decide(Sample.answer(status), Sample.stored("max-age=60, stale-if-error=99")) == .use)
  }

  @Test func withNothingStoredEveryAnswerIsTheAnswer() {
    for status in [200, 304, 503] {
      let decision = Self.policy.decision(
        on: Sample.answer(status), to: Sample.request(), for: Sample.request(), validating: nil, at: Sample.time(0))
      #expect(decision == .use)
    }
  }

  /// RFC 9111 §4.3.5.
  @Test(
    arguments: [
      ([:], true), ([.eTag: "\"v\"", .lastModified: modified, .contentLength: "100"], true), ([.eTag: "\"w\""], false),
      ([.lastModified: "x"], false), ([.eTag: "\"v\"", .lastModified: "x"], false), ([.contentLength: "99"], false),
      ([.contentLength: "+100"], false), ([.contentLength: "x"], false),
    ] as [(HTTPFields, Bool)])
  func aHeadFreshensWhatItAgreesWith(_ fields: HTTPFields, _ agrees: Bool) {
    let stored = Sample.stored("max-age=60", [.eTag: "\"v\"", .lastModified: Self.modified])
    var fields = fields
    fields[.cacheControl] = "max-age=7"
    let updated = Self.policy.freshening(of: stored, byHead: Sample.answer(200, fields), at: Sample.time(61))
    #expect((updated != nil) == agrees)
    if let updated { #expect(updated[.cacheControl] == "max-age=7" && updated[.date] == Sample.time(61).description) }
  }

  @Test func aHeadWithAValidatorThatNothingStoredHasDoesNotFreshen() {
    let stored = Sample.stored("max-age=60", [:])
    for fields: HTTPFields in [[.eTag: "\"v\""], [.lastModified: Self.modified]] {
      #expect(Self.policy.freshening(of: stored, byHead: Sample.answer(200, fields), at: Sample.time(1)) == nil)
    }
  }

  @Test(arguments: [304, 404, 503])
  func aHeadThatIsNo200FreshensNothing(_ status: Int) {
    let head = Sample.answer(status, [.eTag: "\"v\""])
    #expect(Self.policy.freshening(of: Sample.stored(), byHead: head, at: Sample.time(1)) == nil)
    let ok = Sample.answer(200, [.eTag: "\"v\""])
    #expect(Self.policy.freshening(of: Sample.stored(status: 404), byHead: ok, at: Sample.time(1)) == nil)
  }
}
