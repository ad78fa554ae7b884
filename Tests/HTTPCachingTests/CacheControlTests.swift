import HTTPTypes
import Testing

@testable import HTTPCaching

struct CacheControlTests {
  private static func read(_ values: String...) -> CacheControl { CacheControl(values) }

  @Test("flags are read in any case and order")
  func flags() {
    let control = Self.read(
      "Public, NO-STORE ,must-revalidate,,proxy-revalidate", "immutable, must-understand, no-transform")
    #expect(control.isPublic && control.noStore && control.mustRevalidate && control.proxyRevalidate)
    #expect(control.isImmutable && control.mustUnderstand && control.noTransform)
    #expect(!control.onlyIfCached && control.isPrivate == nil && control.noCache == nil)
  }

  @Test(
    "max-age accepts digits only",
    arguments: [
      ("max-age=60", 60), ("max-age=\"60\"", 60), ("Max-Age=0", 0), (#"max-age="\6\0""#, 60),
      ("max-age=60, max-age=5", 60),
      ("max-age=99999999999999999999", 1 << 31), ("max-age=4294967296", 1 << 31),
      // RFC 9111 §4.2.1: what cannot be read makes it stale
      ("max-age", 0), ("max-age=", 0), ("max-age=-5", 0), ("max-age=1.5", 0), ("max-age=a", 0), ("max-age=60 1", 0),
      ("max-age = 60", 0), ("max-age='60'", 0), ("max-age=\"6\"0", 0), ("max-age=\"60", 0), ("max-age 60", 0),
    ])
  func maxAge(_ value: String, _ seconds: Int64) {
    #expect(Self.read(value).maxAge == seconds)
  }

  @Test(
    "a directive with a similar name has no effect",
    arguments: ["", "maxage=60", "x-max-age=60", "\"max-age=60\"", "=60", ";max-age=60"])
  func similarNames(_ value: String) {
    #expect(Self.read(value).maxAge == nil)
  }

  @Test("field names narrow no-cache and private, and the bare directive wins")
  func fieldNames() {
    #expect(Self.read("no-cache=\"Set-Cookie, X-A\"").noCache == .fields(["set-cookie", "x-a"]))
    #expect(Self.read("private=set-cookie").isPrivate == .fields(["set-cookie"]))
    #expect(Self.read("private=\"a\", private=\"b\"").isPrivate == .fields(["a", "b"]))
    #expect(Self.read("no-cache=\"a\"", "no-cache").noCache == .response)
    #expect(Self.read("no-cache, no-cache=\"a\"").noCache == .response)
    #expect(Self.read("no-cache=\"\"").noCache == .response)
  }

  /// A comma that was forgotten must not turn a ban into a narrower one.
  @Test(
    "an invalid no-cache or private concerns the whole response",
    arguments: [
      "no-cache must-revalidate", "no-cache; x", "no-cache=\"a\"b", "no-cache=\"a", "no-cache=\"a;b\"", "no-cache=a b",
      "no-cache=", "NO-CACHE = \"a\"",
    ])
  func invalidRestriction(_ value: String) {
    #expect(Self.read(value).noCache == .response)
    #expect(Self.read(value.replacing("no-cache", with: "private")).isPrivate == .response || value.hasPrefix("N"))
  }

  @Test(
    "a directive with an invalid argument permits nothing",
    arguments: ["public x", "public; max-age=5", "immutable=\"", "max-stale 5", "max-stale=\"5\"5"])
  func invalidPermission(_ value: String) {
    let control = Self.read(value)
    #expect(!control.isPublic && !control.isImmutable && control.maxStale == nil && control.maxAge == nil)
  }

  /// RFC 9111 §5.2.3.
  @Test func unknownDirectivesAreIgnored() {
    #expect(Self.read("community=\"UCI\", x, max-age=5, y=1").maxAge == 5)
    #expect(Self.read("community=\"UCI\", x, y=1") == CacheControl())
  }

  @Test("commas and escapes inside quotes do not separate")
  func quotedCommas() {
    let control = Self.read(#"ext="a, no-store, \"b\"", max-age=5"#)
    #expect(!control.noStore)
    #expect(control.maxAge == 5)
    #expect(Self.read(#"ext="never ends, no-store"#).noStore == false)
  }

  @Test("the directives of requests are read")
  func requestDirectives() {
    #expect(Self.read("max-stale").maxStale == .any)
    #expect(Self.read("max-stale=10").maxStale == .seconds(10))
    #expect(Self.read("max-stale=x").maxStale == nil)
    #expect(Self.read("min-fresh=7, only-if-cached").minFresh == 7)
    #expect(Self.read("only-if-cached").onlyIfCached)
  }

  @Test("stale-while-revalidate and stale-if-error are read, and have no effect if invalid")
  func staleExtensions() {
    let control = Self.read("stale-while-revalidate=5, stale-if-error=6")
    #expect((control.staleWhileRevalidate, control.staleIfError) == (5, 6))
    #expect(Self.read("stale-while-revalidate=x").staleWhileRevalidate == nil)
  }
}

// MARK: - Targeted fields

/// RFC 9213.
struct TargetedFieldTests {
  private static let past = "Sun, 06 Nov 1994 08:00:00 GMT"

  private static func fields(_ targeted: String?, _ control: String?, name: String = "CDN-Cache-Control") throws
    -> HTTPFields
  {
    var fields: HTTPFields = [.date: Sample.time(0).description, .expires: Sample.time(9).description]
    fields[.cacheControl] = control
    if let targeted { fields[try #require(HTTPField.Name(name))] = targeted }
    return fields
  }

  private static func lifetime(_ fields: HTTPFields, _ policy: CachePolicy = CachePolicy(mode: .shared))
    -> FreshnessLifetime
  {
    FreshnessLifetime(of: Sample.answer(200, fields), policy: policy, received: Sample.time(0))
  }

  /// RFC 9213 §2.2: the other fields do not count beside it.
  @Test(
    "a targeted field replaces Cache-Control and Expires",
    arguments: [
      ("max-age=60", 60, FreshnessLifetime.Source.maxAge), ("max-age=60;x=1", 60, .maxAge),
      ("max-age=5, s-maxage=60", 60, .sharedMaxAge), ("max-age=5, max-age=60", 60, .maxAge),
      ("max-age=999999999999999", 1 << 31, .maxAge),
      // Valid, though nothing in it tells a lifetime.
      ("none", 0, .unknown), ("max-age=60.0", 0, .unknown), ("max-age=\"60\"", 0, .unknown), ("max-age", 0, .unknown),
      ("max-age=-1", 0, .unknown), ("max-age=(60)", 0, .unknown), ("max-age=?1", 0, .unknown),
    ])
  func targetedFieldWins(_ value: String, _ seconds: Int64, _ source: FreshnessLifetime.Source) throws {
    let lifetime = Self.lifetime(try Self.fields(value, "max-age=7"))
    #expect((lifetime.seconds, lifetime.source) == (seconds, source))
  }

  /// RFC 9213 §2.1: as though it were absent. Keys are lower-case.
  @Test(
    "an empty or invalid targeted field is ignored",
    arguments: [
      "", " ", "Max-Age=60", "max-age=60,", "max-age=", "max-age=60 no-store", "\"a\"", "max-age=6\u{E9}",
    ])
  func invalidTargetedField(_ value: String) throws {
    #expect(Self.lifetime(try Self.fields(value, "max-age=7")).seconds == 7)
    #expect(Self.lifetime(try Self.fields(value, nil)).source == .expires)
  }

  @Test(
    "a targeted field counts up to 1,024 members and parameters",
    arguments: [(",", 1023, true), (",", 1024, false), (";", 1023, true), (";", 1024, false), (",", 100_000, false)])
  func manyMembers(_ separator: String, _ more: Int, _ counts: Bool) throws {
    let field = "max-age=60" + (0..<more).map { "\(separator)a\($0)" }.joined()
    #expect(Self.lifetime(try Self.fields(field, "max-age=7")).seconds == (counts ? 60 : 7))
    let name = try #require(HTTPField.Name("CDN-Cache-Control"))
    var lines = try Self.fields("max-age=60", "max-age=7")
    for index in 0..<min(more, 2_000) { lines.append(HTTPField(name: name, value: "a\(index)")) }
    #expect(Self.lifetime(lines).seconds == (more < 1024 ? 60 : 7))
    // Length alone is no reason.
    let long = "max-age=60, x=\"" + String(repeating: "a", count: 100_000) + "\""
    #expect(Self.lifetime(try Self.fields(long, "max-age=7")).seconds == 60)
  }

  @Test("several lines of a targeted field are one dictionary")
  func severalLines() throws {
    let name = try #require(HTTPField.Name("CDN-Cache-Control"))
    var fields = try Self.fields("must-revalidate", "max-age=7")
    fields.append(HTTPField(name: name, value: "max-age=60"))
    #expect(Self.lifetime(fields).seconds == 60)
    fields.append(HTTPField(name: name, value: "="))
    #expect(Self.lifetime(fields).seconds == 7)
  }

  @Test("a cache ignores targeted fields that are not its own")
  func otherCaches() throws {
    let fields = try Self.fields("max-age=60", "max-age=7")
    #expect(Self.lifetime(fields, CachePolicy(mode: .private)).seconds == 7)
    #expect(Self.lifetime(fields, CachePolicy(mode: .shared, targets: [])).seconds == 7)
    let other = try Self.fields("max-age=60", "max-age=7", name: "Other-Cache-Control")
    #expect(Self.lifetime(other).seconds == 7)
  }

  @Test("the first targeted field with a valid value applies")
  func firstValidTarget() throws {
    let own = try #require(HTTPField.Name("Own-Cache-Control"))
    let policy = CachePolicy(mode: .shared, targets: [own, try #require(HTTPField.Name.cdnCacheControl)])
    var fields = try Self.fields("max-age=60", "max-age=7")
    #expect(Self.lifetime(fields, policy).seconds == 60)
    fields[own] = "max-age=90"
    #expect(Self.lifetime(fields, policy).seconds == 90)
    fields[own] = "Max-Age=90"
    #expect(Self.lifetime(fields, policy).seconds == 60)
  }

  private static func refusal(_ targeted: String?, _ control: String?, mode: CachePolicy.Mode = .shared) throws
    -> StorageDecision.Refusal?
  {
    let decision = CachePolicy(mode: mode).storage(
      of: Sample.answer(200, try Self.fields(targeted, control)), to: Sample.request(), received: Sample.time(0))
    if case .refuse(let refusal) = decision { return refusal }
    return nil
  }

  /// RFC 9213 §2.2, §3.
  @Test(
    "a targeted field decides what is stored",
    arguments: [
      ("max-age=60", "no-store", nil), ("none", "no-store", nil), ("no-store", "max-age=60", .responseNoStore),
      ("private", "public", .isPrivate), ("private=\"x-a\"", "public", nil), ("", "no-store", .responseNoStore),
      // Types that the directives do not have.
      ("no-store=?0", "max-age=60", nil), ("no-store=1", "max-age=60", nil), ("private=1", "max-age=60", nil),
      ("no-store=\"x\"", "max-age=60", nil),
    ] as [(String, String, StorageDecision.Refusal?)])
  func targetedStorage(_ targeted: String, _ control: String, _ refusal: StorageDecision.Refusal?)
    throws
  {
    #expect(try Self.refusal(targeted, control) == refusal)
  }

  /// RFC 9213 §2.2: nor does `Expires` count for what is kept.
  @Test("Expires beside a targeted field does not permit storing")
  func expiresBesideTarget() throws {
    func decide(_ targeted: String?) throws -> StorageDecision {
      CachePolicy(mode: .shared).storage(
        of: Sample.answer(302, try Self.fields(targeted, nil)), to: Sample.request(), received: Sample.time(0))
    }
    #expect(try decide("none") == .refuse(.nothingAllows))
    guard case .store = try decide(nil) else {
      Issue.record("not stored")
      return
    }
  }

  @Test("a private cache obeys Cache-Control, not the targeted field")
  func privateCache() throws {
    #expect(try Self.refusal("max-age=60", "no-store", mode: .private) == .responseNoStore)
    #expect(try Self.refusal("no-store", "max-age=60", mode: .private) == nil)
  }

  @Test("directives of a targeted field restrict as those of Cache-Control do")
  func restrictingDirectives() throws {
    let policy = CachePolicy(mode: .shared)
    for (targeted, summary) in [
      ("max-age=60, no-cache", "revalidate responseNoCache"), ("max-age=60, no-cache=\"x-a\"", "serve fresh"),
      ("max-age=1, must-revalidate, stale-while-revalidate=9", "revalidate stale"),
      ("max-age=1, stale-while-revalidate=9", "serveStale"),
      ("max-age=1, stale-while-revalidate=\"9\"", "revalidate stale"),
    ] {
      let stored = StoredResponse(
        id: 1, status: 200, fields: try Self.fields(targeted, "max-age=60").adding(.eTag, "\"v\""),
        times: ExchangeTimes(request: Sample.time(0), response: Sample.time(0)), vary: VaryKey(), extent: .whole(1),
        policy: policy)
      #expect(policy.decision(for: Sample.request(), among: [stored], at: Sample.time(2)).summary == summary)
    }
  }
}

extension HTTPFields {
  fileprivate func adding(_ name: HTTPField.Name, _ value: String) -> HTTPFields {
    var fields = self
    fields[name] = value
    return fields
  }
}
