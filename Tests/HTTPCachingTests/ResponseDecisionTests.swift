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
    "a 304 updates only a response with the same validator",
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
  func confirmation(_ old: HTTPFields, _ new: HTTPFields, _ isUpdated: Bool) {
    let decision = Self.decide(Sample.answer(304, new), Sample.stored("max-age=60", old))
    #expect(decision.summary == (isUpdated ? "freshen" : "askAgain"))
  }

  @Test("a repeated request has no conditions, and keeps the client's directives")
  func unconditionalRequest() throws {
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
  @Test("a 304 to the client's own condition does not freshen the stored response")
  func clientConfirmation() {
    let stored = Sample.stored("max-age=60", [:])
    let request = Sample.request([.ifNoneMatch: "\"mine\""])
    let decision = Self.policy.decision(
      on: Sample.answer(304), to: request, for: request, validating: stored, at: Sample.time(61))
    #expect(decision == .use)
  }

  @Test("a 304 to an unconditional request is not used")
  func unsolicitedConfirmation() {
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
  @Test("a response with another status is used", arguments: [200, 204, 206, 301, 404, 410, 412, 416, 501, 505])
  func otherStatuses(_ status: Int) {
    #expect(Self.decide(Sample.answer(status), Sample.stored("max-age=60, stale-if-error=99")) == .use)
  }

  @Test("without a stored response every response is used")
  func nothingStored() {
    for status in [200, 304, 503] {
      let decision = Self.policy.decision(
        on: Sample.answer(status), to: Sample.request(), for: Sample.request(), validating: nil, at: Sample.time(0))
      #expect(decision == .use)
    }
  }

  /// RFC 9111 §4.3.5.
  @Test(
    "a HEAD response freshens a stored response that agrees with it",
    arguments: [
      ([:], true), ([.eTag: "\"v\"", .lastModified: modified, .contentLength: "100"], true), ([.eTag: "\"w\""], false),
      ([.lastModified: "x"], false), ([.eTag: "\"v\"", .lastModified: "x"], false), ([.contentLength: "99"], false),
      ([.contentLength: "+100"], false), ([.contentLength: "x"], false),
    ] as [(HTTPFields, Bool)])
  func head(_ fields: HTTPFields, _ agrees: Bool) {
    let stored = Sample.stored("max-age=60", [.eTag: "\"v\"", .lastModified: Self.modified])
    var fields = fields
    fields[.cacheControl] = "max-age=7"
    let updated = Self.policy.freshening(of: stored, byHead: Sample.answer(200, fields), at: Sample.time(61))
    #expect((updated != nil) == agrees)
    if let updated { #expect(updated[.cacheControl] == "max-age=7" && updated[.date] == Sample.time(61).description) }
  }

  @Test("a HEAD response with an unknown validator does not freshen")
  func headWithOtherValidator() {
    let stored = Sample.stored("max-age=60", [:])
    for fields: HTTPFields in [[.eTag: "\"v\""], [.lastModified: Self.modified]] {
      #expect(Self.policy.freshening(of: stored, byHead: Sample.answer(200, fields), at: Sample.time(1)) == nil)
    }
  }

  @Test("a HEAD response other than 200 does not freshen", arguments: [304, 404, 503])
  func headWithOtherStatus(_ status: Int) {
    let head = Sample.answer(status, [.eTag: "\"v\""])
    #expect(Self.policy.freshening(of: Sample.stored(), byHead: head, at: Sample.time(1)) == nil)
    let ok = Sample.answer(200, [.eTag: "\"v\""])
    #expect(Self.policy.freshening(of: Sample.stored(status: 404), byHead: ok, at: Sample.time(1)) == nil)
  }
}

// MARK: - Completing a part

/// Answers to requests for the rest of a stored part.
struct CompletionTests {
  private static func decide(
    _ response: HTTPResponse, size: Int64? = 100, stored fields: HTTPFields = [.eTag: "\"v\""],
    control: String = "max-age=60"
  ) -> ResponseDecision {
    let part = Sample.stored(control, fields, extent: .part(0..<50, of: size))
    var sent = Sample.request()
    sent.headerFields[.range] = "bytes=50-"
    sent.headerFields[.ifRange] = "\"v\""
    return CachePolicy(mode: .private).decision(
      on: response, to: sent, for: Sample.request(), validating: part, at: Sample.time(61))
  }

  /// RFC 9111 §3.4, RFC 9110 §15.3.7.3.
  @Test(
    "only the rest of the same content is appended",
    arguments: [
      ("bytes 50-99/100", "\"v\"", 100, true), ("bytes 50-99/100", "\"v\"", nil, true),
      ("bytes 50-99/*", "\"v\"", 100, true),
      // Another place, another size, or not all that is missing.
      ("bytes 49-99/100", "\"v\"", 100, false), ("bytes 51-99/100", "\"v\"", 100, false),
      ("bytes 50-98/100", "\"v\"", 100, false), ("bytes 50-100/101", "\"v\"", 100, false),
      ("bytes 50-98/*", "\"v\"", 100, false), ("bytes 50-99/*", "\"v\"", nil, false),
      ("bytes 50-199/*", "\"v\"", 100, false),
      // What cannot be read may not be put together with anything.
      ("bytes +50-99/100", "\"v\"", 100, false), ("bytes 50-99//100", "\"v\"", 100, false), (nil, "\"v\"", 100, false),
      // Another validator, a weak one, or none.
      ("bytes 50-99/100", "\"w\"", 100, false), ("bytes 50-99/100", "W/\"v\"", 100, false),
      ("bytes 50-99/100", nil, 100, false),
    ] as [(String?, String?, Int64?, Bool)])
  func appendedRest(_ range: String?, _ tag: String?, _ size: Int64?, _ isAppended: Bool) {
    var fields: HTTPFields = [.contentLength: "50", .cacheControl: "max-age=7"]
    fields[.contentRange] = range
    fields[.eTag] = tag
    let decision = Self.decide(Sample.answer(206, fields), size: size)
    guard case .append(_, let updated, let total) = decision else {
      #expect(!isAppended && decision == .askAgain(Sample.request()))
      return
    }
    #expect(isAppended && total == 100)
    #expect(updated[.cacheControl] == "max-age=7" && updated[.contentRange] == nil && updated[.contentLength] == nil)
  }

  @Test("several Content-Range fields are ignored")
  func severalContentRanges() {
    var fields: HTTPFields = [.eTag: "\"v\"", .contentRange: "bytes 50-99/100"]
    fields.append(HTTPField(name: .contentRange, value: "bytes 50-99/100"))
    #expect(Self.decide(Sample.answer(206, fields)).summary == "askAgain")
  }

  @Test(
    "parts with different content codings are not joined",
    arguments: [
      (nil, nil, true), ("gzip", nil, true), ("gzip", "gzip", true), ("gzip", "br", false), (nil, "br", false),
    ]
      as [(String?, String?, Bool)])
  func codingsOfParts(_ old: String?, _ new: String?, _ isAppended: Bool) {
    var stored: HTTPFields = [.eTag: "\"v\""]
    stored[.contentEncoding] = old
    var fields: HTTPFields = [.eTag: "\"v\"", .contentRange: "bytes 50-99/100"]
    fields[.contentEncoding] = new
    #expect(Self.decide(Sample.answer(206, fields), stored: stored).summary == (isAppended ? "append" : "askAgain"))
  }

  @Test("a 416 for the rest leads to a request for the whole")
  func unsatisfiedRest() {
    #expect(Self.decide(Sample.answer(416, [.contentRange: "bytes */10"])) == .askAgain(Sample.request()))
  }

  @Test("a 200 for the rest replaces the part")
  func wholeInsteadOfRest() {
    #expect(Self.decide(Sample.answer(200, [.eTag: "\"w\""])) == .use)
    #expect(Self.decide(Sample.answer(404)) == .use)
    #expect(Self.decide(Sample.answer(503), control: "max-age=60, stale-if-error=99") == .use)
  }

  @Test("a 206 to the client's own range is used")
  func clientRange() {
    let original = Sample.request([.range: "bytes=50-"])
    let stored = Sample.stored()
    for status in [206, 416] {
      let decision = CachePolicy(mode: .private).decision(
        on: Sample.answer(status, [.contentRange: "bytes 50-99/100"]), to: stored.validators.applied(to: original),
        for: original, validating: stored, at: Sample.time(61))
      #expect(decision == .use)
    }
  }
}

// MARK: - Errors of the origin

/// Stored responses when the origin fails.
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
  @Test(
    "a stale response replaces an error if a directive permits that",
    arguments: [
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
  func staleIfError(_ row: Row) {
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
  @Test(
    "a disconnected cache uses a stale response unless a directive forbids that",
    arguments: [
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
  func disconnected(_ row: Row) {
    for (mode, expected) in [(CachePolicy.Mode.private, row.privately), (.shared, row.shared)] {
      let reason = CachePolicy(mode: mode).fallback(
        to: Sample.stored(row.response, mode: mode), for: Sample.asking(row.request), at: Sample.time(row.age))
      #expect((reason.map { "\($0)" } ?? "nothing") == expected, "\(mode)")
    }
  }

  @Test("neither a part nor an invalidated response replaces an error")
  func unusableForErrors() {
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
      #expect(policy.fallback(to: stored, for: request, at: Sample.time(61)) == nil)
    }
  }

  @Test("only GET and HEAD are answered from a stored response when the origin fails", arguments: [true, false])
  func methodsOfFallbacks(_ allowsErrors: Bool) {
    let policy = CachePolicy(mode: .private)
    let stored = Sample.stored(allowsErrors ? "max-age=60, stale-if-error=99" : "max-age=60")
    for method in [HTTPRequest.Method.get, .head, .post, .put, .delete, .options] {
      let isAnswered = method == .get || method == .head
      let request = Sample.request(method: method)
      let decision = policy.decision(
        on: Sample.answer(503), to: request, for: request, validating: stored, at: Sample.time(61))
      #expect(decision == (isAnswered && allowsErrors ? .serveStale(stored, because: .ifError) : .use), "\(method)")
      let reason: ServeReason? = allowsErrors ? .ifError : .disconnected
      #expect(
        policy.fallback(to: stored, for: request, at: Sample.time(61)) == (isAnswered ? reason : nil), "\(method)")
      #expect((policy.selectedResponse(for: request, among: [stored]) != nil) == isAnswered, "\(method)")
    }
  }

  @Test("a response with neither lifetime nor validator is not used by itself")
  func unknownFreshness() {
    let policy = CachePolicy(mode: .private)
    let nothing = Sample.stored("", [:])
    #expect(policy.fallback(to: nothing, for: Sample.request(), at: Sample.time(1)) == nil)
    #expect(policy.fallback(to: Sample.stored(""), for: Sample.request(), at: Sample.time(1)) == .disconnected)
  }
}

// MARK: - Updated fields

/// RFC 9111 §3.1, §3.2.
struct UpdatedFieldsTests {
  private static func update(_ stored: HTTPFields, by new: HTTPFields, mode: CachePolicy.Mode = .private) -> HTTPFields
  {
    CachePolicy(mode: mode).updatedFields(of: stored, by: new, at: Sample.time(5))
  }

  @Test("new fields replace all lines of old ones, and other fields stay")
  func replacedFields() throws {
    let (own, other) = (try #require(HTTPField.Name("X-A")), try #require(HTTPField.Name("X-B")))
    var stored: HTTPFields = [own: "1", other: "1", .contentType: "text/html"]
    stored.append(HTTPField(name: own, value: "2"))
    var new: HTTPFields = [own: "3"]
    new.append(HTTPField(name: own, value: "4"))
    let updated = Self.update(stored, by: new)
    #expect(updated[values: own] == ["3", "4"])
    #expect(updated[other] == "1" && updated[.contentType] == "text/html")
    #expect(Self.update(stored, by: [.contentType: "text/plain"])[.contentType] == "text/plain")
  }

  /// RFC 9110 §6.6.1.
  @Test("the Date is that of the 304")
  func date() {
    let stored: HTTPFields = [.date: Sample.time(0).description]
    #expect(Self.update(stored, by: [:])[values: .date] == [Sample.time(5).description])
    #expect(Self.update(stored, by: [.date: Sample.time(4).description])[values: .date] == [Sample.time(4).description])
  }

  @Test("the Age of the previous exchange is removed")
  func age() {
    #expect(Self.update([.age: "9"], by: [:])[.age] == nil)
    #expect(Self.update([.age: "9"], by: [.age: "2"])[values: .age] == ["2"])
  }

  @Test(
    "the fields that describe the stored bytes stay",
    arguments: [HTTPField.Name.contentLength, .contentEncoding, .contentRange])
  func boundFields(_ name: HTTPField.Name) {
    #expect(Self.update([name: "old"], by: [name: "new"])[values: name] == ["old"])
    #expect(Self.update([:], by: [name: "new"])[name] == nil)
  }

  @Test("hop-by-hop fields are not stored")
  func hopByHopFields() throws {
    let hop = try #require(HTTPField.Name("X-OutgoingRequest"))
    let updated = Self.update(
      [hop: "old"], by: [.connection: "X-OutgoingRequest", hop: "new", .transferEncoding: "chunked"])
    #expect(updated[values: hop] == ["old"])
    #expect(!updated.contains(.connection) && !updated.contains(.transferEncoding))
  }

  /// RFC 9111 §5.2.2.4, §5.2.2.7: whichever of the two says so.
  @Test(
    "fields named by no-cache or private are neither added nor kept",
    arguments: [
      ("no-cache=\"set-cookie\"", nil, false, false), (nil, "no-cache=\"set-cookie\"", false, false),
      ("private=\"set-cookie\"", nil, true, false), (nil, "private=\"set-cookie\"", true, false),
      ("no-cache=\"set-cookie\"", "max-age=1", true, false), (nil, nil, true, false),
    ] as [(String?, String?, Bool, Bool)])
  func restrictedFields(
    _ old: String?, _ new: String?, _ privately: Bool, _ shared: Bool
  ) {
    for (mode, isKept) in [(CachePolicy.Mode.private, privately), (.shared, shared)] {
      for (inOld, inNew) in [(true, false), (false, true)] {
        var (stored, fresh): (HTTPFields, HTTPFields) = ([:], [:])
        stored[.cacheControl] = old
        fresh[.cacheControl] = new
        stored[.setCookie] = inOld ? "a=1" : nil
        fresh[.setCookie] = inNew ? "a=1" : nil
        #expect(Self.update(stored, by: fresh, mode: mode).contains(.setCookie) == isKept, "\(mode) \(inOld)")
      }
    }
  }
}
