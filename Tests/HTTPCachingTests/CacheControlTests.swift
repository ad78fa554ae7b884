import Testing

@testable import HTTPCaching

struct CacheControlTests {
  private static func read(_ values: String...) -> CacheControl { CacheControl(values) }

  @Test func flagsAreReadInAnyCaseAndOrder() {
    let control = Self.read(
      "Public, NO-STORE ,must-revalidate,,proxy-revalidate", "immutable, must-understand, no-transform")
    #expect(control.isPublic && control.noStore && control.mustRevalidate && control.proxyRevalidate)
    #expect(control.isImmutable && control.mustUnderstand && control.noTransform)
    #expect(!control.onlyIfCached && control.isPrivate == nil && control.noCache == nil)
  }

  @Test(arguments: [
    ("max-age=60", 60), ("max-age=\"60\"", 60), ("Max-Age=0", 0), (#"max-age="\6\0""#, 60),
    ("max-age=60, max-age=5", 60),
    ("max-age=99999999999999999999", 1 << 31), ("max-age=4294967296", 1 << 31),
    // RFC 9111 §4.2.1: what cannot be read makes it stale
    ("max-age", 0), ("max-age=", 0), ("max-age=-5", 0), ("max-age=1.5", 0), ("max-age=a", 0), ("max-age=60 1", 0),
    ("max-age = 60", 0), ("max-age='60'", 0), ("max-age=\"6\"0", 0), ("max-age=\"60", 0), ("max-age 60", 0),
  ])
  func maxAgeIsReadStrictly(_ value: String, _ seconds: Int64) {
    #expect(Self.read(value).maxAge == seconds)
  }

  @Test(arguments: ["", "maxage=60", "x-max-age=60", "\"max-age=60\"", "=60", ";max-age=60"])
  func whatIsAnotherDirectiveGrantsNothing(_ value: String) {
    #expect(Self.read(value).maxAge == nil)
  }

  @Test func fieldNamesNarrowAndTheBareDirectiveWins() {
    #expect(Self.read("no-cache=\"Set-Cookie, X-A\"").noCache == .fields(["set-cookie", "x-a"]))
    #expect(Self.read("private=set-cookie").isPrivate == .fields(["set-cookie"]))
    #expect(Self.read("private=\"a\", private=\"b\"").isPrivate == .fields(["a", "b"]))
    #expect(Self.read("no-cache=\"a\"", "no-cache").noCache == .response)
    #expect(Self.read("no-cache, no-cache=\"a\"").noCache == .response)
    #expect(Self.read("no-cache=\"\"").noCache == .response)
  }

  /// A comma that was forgotten must not turn a ban into a narrower one.
  @Test(arguments: [
    "no-cache must-revalidate", "no-cache; x", "no-cache=\"a\"b", "no-cache=\"a", "no-cache=\"a;b\"", "no-cache=a b",
    "no-cache=", "NO-CACHE = \"a\"",
  ])
  func aBanThatCannotBeReadIsOfTheWhole(_ value: String) {
    #expect(Self.read(value).noCache == .response)
    #expect(Self.read(value.replacing("no-cache", with: "private")).isPrivate == .response || value.hasPrefix("N"))
  }

  @Test(arguments: ["public x", "public; max-age=5", "immutable=\"", "max-stale 5", "max-stale=\"5\"5"])
  func whatCannotBeReadGrantsNothing(_ value: String) {
    let control = Self.read(value)
    #expect(!control.isPublic && !control.isImmutable && control.maxStale == nil && control.maxAge == nil)
  }

  /// RFC 9111 §5.2.3.
  @Test func unknownDirectivesAreIgnored() {
    #expect(Self.read("community=\"UCI\", x, max-age=5, y=1").maxAge == 5)
    #expect(Self.read("community=\"UCI\", x, y=1") == CacheControl())
  }

  @Test func commasAndEscapesInQuotesAreNoSeparators() {
    let control = Self.read(#"ext="a, no-store, \"b\"", max-age=5"#)
    #expect(!control.noStore)
    #expect(control.maxAge == 5)
    #expect(Self.read(#"ext="never ends, no-store"#).noStore == false)
  }

  @Test func requestDirectivesAreRead() {
    #expect(Self.read("max-stale").maxStale == .any)
    #expect(Self.read("max-stale=10").maxStale == .seconds(10))
    #expect(Self.read("max-stale=x").maxStale == nil)
    #expect(Self.read("min-fresh=7, only-if-cached").minFresh == 7)
    #expect(Self.read("only-if-cached").onlyIfCached)
  }

  @Test func extensionsForStaleAnswersAreReadAndUnreadableOnesGrantNothing() {
    let control = Self.read("stale-while-revalidate=5, stale-if-error=6")
    #expect((control.staleWhileRevalidate, control.staleIfError) == (5, 6))
    #expect(Self.read("stale-while-revalidate=x").staleWhileRevalidate == nil)
  }
}
