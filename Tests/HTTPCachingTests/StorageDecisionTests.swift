import HTTPTypes
import Testing

@testable import HTTPCaching

struct StorageDecisionTests {
  private static func decide(
    _ control: String?, mode: CachePolicy.Mode = .private, status: Int = 200, method: HTTPRequest.Method = .get,
    request: HTTPFields = [:], more: HTTPFields = [:]
  ) -> StorageDecision.Refusal? {
    var fields = more
    fields[.cacheControl] = control
    let decision = CachePolicy(mode: mode).storage(
      of: HTTPResponse(status: .init(code: status), headerFields: fields),
      to: HTTPRequest(method: method, scheme: "https", authority: "h", path: "/", headerFields: request),
      received: HTTPDate(secondsSinceEpoch: 784_111_777))
    if case .refuse(let refusal) = decision { return refusal }
    return nil
  }

  @Test("a 200 without directives is stored")
  func noDirectives() {
    #expect(Self.decide(nil) == nil)
    #expect(Self.decide(nil, mode: .shared) == nil)
  }

  @Test("only responses to GET are stored", arguments: [HTTPRequest.Method.post, .put, .head, .options])
  func methods(_ method: HTTPRequest.Method) {
    #expect(Self.decide("max-age=60", method: method) == .method)
  }

  @Test("no-store in the request or the response forbids storing")
  func noStore() {
    #expect(Self.decide("no-store, max-age=60") == .responseNoStore)
    #expect(Self.decide("max-age=60", request: [.cacheControl: "no-store"]) == .requestNoStore)
  }

  @Test("must-understand with an understood status cancels no-store")
  func mustUnderstand() {
    #expect(Self.decide("no-store, must-understand, max-age=60") == nil)
    #expect(Self.decide("no-store, must-understand, max-age=60", status: 299) == .notUnderstood)
    #expect(Self.decide("max-age=60", status: 299) == nil)
  }

  /// RFC 9110 §15.1.
  @Test("every status is stored according to its definition")
  func statuses() {
    let heuristic: Set<Int> = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]
    for status in 200..<600 where ![206, 304, 412, 416].contains(status) {
      #expect((Self.decide(nil, status: status) == nil) == heuristic.contains(status), "\(status)")
      #expect(Self.decide("max-age=60", mode: .shared, status: status) == nil, "\(status)")
    }
    for status in heuristic.union([302, 303, 307, 400, 451, 500, 502, 503, 504]) {
      #expect(Self.decide("no-store, must-understand, max-age=60", status: status) == nil, "\(status)")
    }
  }

  /// RFC 9110 §15.
  @Test("a status above 599 is not stored", arguments: [600, 799, 999])
  func invalidStatuses(_ status: Int) {
    for mode in [CachePolicy.Mode.private, .shared] {
      #expect(Self.decide("public, max-age=60", mode: mode, status: status) == .notUnderstood)
    }
  }

  @Test("a shared cache stores no response with tags that it does not keep")
  func tags() throws {
    let name = try #require(HTTPField.Name("Surrogate-Key"))
    func fields(_ count: Int) -> HTTPFields { [name: (0..<count).map { "t\($0)" }.joined(separator: " ")] }
    #expect(Self.decide("max-age=60", mode: .shared, more: fields(256)) == nil)
    #expect(Self.decide("max-age=60", mode: .shared, more: fields(257)) == .tags)
    #expect(Self.decide("max-age=60", more: fields(257)) == nil)
    // A 304 may bring more.
    let stored = Sample.stored("max-age=60", fields(257), mode: .shared)
    #expect(!CachePolicy(mode: .shared).mayBeKept(stored) && CachePolicy(mode: .private).mayBeKept(stored))
    let decision = CachePolicy(mode: .shared).decision(for: Sample.request(), among: [stored], at: Sample.time(1))
    #expect(decision.servesNothing)
  }

  /// RFC 9530 §2.
  @Test("a digest of the content stays with the content that it is of")
  func contentDigest() throws {
    let name = try #require(HTTPField.Name.contentDigest)
    let part = CachePolicy(mode: .shared).storage(
      of: Sample.answer(206, [name: "sha-256=:AA==:", .contentRange: "bytes 0-4/10", .cacheControl: "max-age=60"]),
      to: Sample.request([.range: "bytes=0-4"]), received: Sample.time(0))
    guard case .storePart(_, let fields) = part else {
      Issue.record("\(part)")
      return
    }
    #expect(!fields.contains(name))
    let stored = Sample.stored("max-age=60", [.eTag: "\"v\"", name: "sha-256=:AA==:"])
    let whole = stored.response(to: Sample.request(), age: 0)
    let range = stored.response(to: Sample.request([.range: "bytes=0-4"]), age: 0)
    #expect(whole.head.headerFields.contains(name) && !range.head.headerFields.contains(name))
    #expect(range.head.status == .partialContent)
    let updated = CachePolicy(mode: .shared).updatedFields(
      of: stored.fields, by: [name: "sha-256=:BB==:"], at: Sample.time(1))
    #expect(updated[name] == "sha-256=:AA==:")
  }

  @Test("private forbids storing in shared caches only")
  func privateResponses() {
    #expect(Self.decide("private, max-age=60", mode: .shared) == .isPrivate)
    #expect(Self.decide("private, max-age=60") == nil)
    #expect(Self.decide("private=\"set-cookie\", max-age=60", mode: .shared) == nil)
  }

  /// RFC 9111 §7.3.
  @Test(
    "a response with Set-Cookie is not shared unless a rule permits it",
    arguments: [nil, "max-age=60", "public, s-maxage=60", "no-cache"])
  func cookies(_ control: String?) throws {
    let cookie: HTTPFields = [.setCookie: "session=1"]
    #expect(Self.decide(control, mode: .shared, more: cookie) == .setsCookie)
    #expect(Self.decide(control, more: cookie) == nil)
    var policy = CachePolicy(mode: .shared)
    policy.sharesCookies = true
    var fields = cookie
    fields[.cacheControl] = control
    let decision = policy.storage(
      of: HTTPResponse(status: .ok, headerFields: fields),
      to: HTTPRequest(method: .get, scheme: "https", authority: "h", path: "/"),
      received: HTTPDate(secondsSinceEpoch: 784_111_777))
    guard case .store(_, let kept) = decision else {
      Issue.record("\(decision)")
      return
    }
    #expect(kept[.setCookie] == "session=1")
  }

  /// RFC 9111 §5.2.2.4, §5.2.2.7.
  @Test(
    "a response that names Set-Cookie in no-cache or private is stored without it",
    arguments: ["no-cache=\"set-cookie\", max-age=60", "private=\"Set-Cookie\", max-age=60"])
  func namedCookies(_ control: String) {
    #expect(Self.decide(control, mode: .shared, more: [.setCookie: "session=1"]) == nil)
  }

  @Test(
    "a response to an authorized request is shared only if a directive permits it",
    arguments: [
      ("max-age=60", false), ("public", true), ("s-maxage=60", true), ("must-revalidate", true), ("private", false),
    ])
  func authorizedResponses(_ control: String, _ isKept: Bool) {
    let refusal = Self.decide(control, mode: .shared, request: [.authorization: "Bearer x"])
    #expect((refusal == nil) == isKept)
    #expect(Self.decide(control, request: [.authorization: "Bearer x"]) == nil)
  }

  @Test(
    "a status that is not heuristically cacheable needs a directive",
    arguments: [(302, false), (307, false), (500, false), (404, true), (410, true), (301, true)])
  func explicitStatuses(_ status: Int, _ isKept: Bool) {
    #expect((Self.decide(nil, status: status) == nil) == isKept)
    #expect(Self.decide("max-age=60", status: status) == nil)
    #expect(Self.decide("public", status: status) == nil)
    #expect(Self.decide(nil, status: status, more: [.expires: "0"]) == nil)
  }

  @Test("s-maxage permits storing in shared caches, private in private ones")
  func explicitDirectives() {
    #expect(Self.decide("s-maxage=60", mode: .shared, status: 302) == nil)
    #expect(Self.decide("s-maxage=60", status: 302) == .nothingAllows)
    #expect(Self.decide("private", status: 302) == nil)
  }

  @Test("a 304 and a 206 without a range request are not stored", arguments: [206, 304])
  func partsAnd304(_ status: Int) {
    #expect(Self.decide("max-age=60", status: status) == .notUnderstood)
  }

  @Test("412 and 416 are not stored", arguments: [412, 416])
  func conditionErrors(_ status: Int) {
    #expect(Self.decide("max-age=60", status: status, request: [.range: "bytes=9-"]) == .notUnderstood)
  }

  @Test("an interim response is not stored", arguments: [100, 103, 199])
  func interimResponses(_ status: Int) {
    #expect(Self.decide("max-age=60", status: status) == .interim)
  }

  @Test("a response with Vary: * is not stored")
  func varyStar() {
    #expect(Self.decide("max-age=60", more: [.vary: "Accept, *"]) == .varies)
  }

  @Test("hop-by-hop fields and fields named by directives are not stored")
  func omittedFields() throws {
    let fields: HTTPFields = [
      .cacheControl: "private=\"X-Secret\", no-cache=\"Set-Cookie\", max-age=60",
      .connection: "close, X-OutgoingRequest",
      .setCookie: "a=1", .eTag: "\"v\"", .transferEncoding: "chunked",
      try #require(HTTPField.Name("X-OutgoingRequest")): "1", try #require(HTTPField.Name("X-Secret")): "1",
    ]
    func kept(_ mode: CachePolicy.Mode) -> Set<String> {
      let decision = CachePolicy(mode: mode).storage(
        of: HTTPResponse(status: .ok, headerFields: fields),
        to: HTTPRequest(method: .get, scheme: "https", authority: "h", path: "/"),
        received: HTTPDate(secondsSinceEpoch: 784_111_777))
      guard case .store(_, let fields) = decision else { return [] }
      return Set(fields.map(\.name.canonicalName))
    }
    #expect(kept(.shared) == ["cache-control", "date", "etag"])
    #expect(kept(.private) == ["cache-control", "date", "etag", "x-secret"])
  }

  /// RFC 9110 §7.6.1: what is meant for everybody never concerns the connection alone.
  @Test("Connection cannot remove caching directives")
  func protectedDirectives() throws {
    let fields: HTTPFields = [.cacheControl: "no-cache", .connection: "cache-control, cdn-cache-control, etag"]
    let cdn = try #require(HTTPField.Name.cdnCacheControl)
    var targeted = fields
    targeted[cdn] = "no-cache"
    let kept = CachePolicy(mode: .shared).storedFields(of: targeted, received: Sample.time(0))
    #expect(kept[.cacheControl] == "no-cache" && kept[cdn] == "no-cache" && !kept.contains(.eTag))
  }

  @Test(
    "every refusal has a clause",
    arguments: [
      (StorageDecision.Refusal.requestNoStore, "5.2.1.5"), (.responseNoStore, "5.2.2.5"), (.isPrivate, "5.2.2.7"),
      (.authorized, "3.5"), (.varies, "4.1"), (.method, "3"), (.interim, "3"), (.notUnderstood, "3"),
      (.nothingAllows, "3"),
    ])
  func refusals(_ refusal: StorageDecision.Refusal, _ section: String) {
    #expect(refusal.clause == "RFC 9111 §\(section)")
  }
}

// MARK: - Kinds of stored responses

/// Answers that are kept as something else than they came as.
struct StoredKindsTests {
  private static func decide(
    _ response: HTTPResponse, to request: HTTPRequest, mode: CachePolicy.Mode = .private
  ) -> StorageDecision {
    CachePolicy(mode: mode).storage(of: response, to: request, received: Sample.time(0))
  }

  /// RFC 9110 §9.3.3: the answer to a POST that says what a GET would give, and for how long.
  @Test(
    "a response to POST is stored if it represents the result of GET",
    arguments: [
      ("max-age=60", "/a", 200, true), ("max-age=60", "https://example.org/a", 200, true),
      ("max-age=60", "/b", 200, false), ("max-age=60", nil, 200, false), ("max-age=60", "/a", 201, false),
      ("max-age=60, no-store", "/a", 200, false),
      // Leave to keep it is no lifetime.
      ("public", "/a", 200, false), ("private", "/a", 200, false), ("", "/a", 200, false),
      ("s-maxage=60", "/a", 200, false),
    ] as [(String, String?, Int, Bool)])
  func postAsGet(
    _ control: String, _ location: String?, _ status: Int, _ isKept: Bool
  ) {
    var fields: HTTPFields = [.cacheControl: control]
    fields[.contentLocation] = location
    let decision = Self.decide(Sample.answer(status, fields), to: Sample.request(method: .post))
    if case .refuse = decision { #expect(!isKept) } else { #expect(isKept) }
    let put = Self.decide(Sample.answer(status, fields), to: Sample.request(method: .put))
    #expect(put == .refuse(.method))
  }

  @Test("s-maxage permits storing a response to POST in a shared cache")
  func postInSharedCache() {
    let fields: HTTPFields = [.cacheControl: "s-maxage=60", .contentLocation: "/a"]
    let decision = Self.decide(Sample.answer(200, fields), to: Sample.request(method: .post), mode: .shared)
    guard case .store = decision else {
      Issue.record("\(decision)")
      return
    }
  }

  /// RFC 9111 §3.3.
  @Test(
    "a 206 is stored as a part of a 200",
    arguments: [
      ("bytes 0-49/100", "100"), ("bytes 50-99/*", nil),
    ] as [(String, String?)])
  func part(_ range: String, _ length: String?) {
    let response = Sample.answer(206, [.contentRange: range, .contentLength: "50", .eTag: "\"v\""])
    let decision = Self.decide(response, to: Sample.request([.range: "bytes=0-"]))
    guard case .storePart(let part, let fields) = decision else {
      Issue.record("\(decision)")
      return
    }
    #expect(part.description == range)
    #expect(fields[.contentRange] == nil && fields[.contentLength] == length && fields[.eTag] == "\"v\"")
  }

  @Test(
    "a 206 without a valid Content-Range is not stored",
    arguments: [nil, "bytes 0-49", "bytes */100", "lines 0-49/100", "bytes 0-+49/100"] as [String?])
  func partWithoutRange(_ range: String?) {
    var fields: HTTPFields = [.cacheControl: "max-age=60"]
    fields[.contentRange] = range
    let request = Sample.request([.range: "bytes=0-"])
    #expect(Self.decide(Sample.answer(206, fields), to: request) == .refuse(.notUnderstood))
  }

  @Test("a 206 with several Content-Range fields is not stored")
  func severalContentRanges() {
    var fields: HTTPFields = [.contentRange: "bytes 0-49/100"]
    fields.append(HTTPField(name: .contentRange, value: "bytes 50-99/100"))
    let request = Sample.request([.range: "bytes=0-"])
    #expect(Self.decide(Sample.answer(206, fields), to: request) == .refuse(.notUnderstood))
  }

  @Test("a 206 to a request without Range is not stored")
  func unsolicitedPart() {
    let response = Sample.answer(206, [.contentRange: "bytes 0-49/100"])
    #expect(Self.decide(response, to: Sample.request()) == .refuse(.notUnderstood))
  }

  /// RFC 9110 §6.6.1.
  @Test("a response without Date gets that of its arrival")
  func missingDate() {
    guard case .store(_, let fields) = Self.decide(Sample.answer(200), to: Sample.request()) else {
      Issue.record("not stored")
      return
    }
    #expect(fields[.date] == Sample.time(0).description)
  }
}
