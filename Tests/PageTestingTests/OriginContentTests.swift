import HTTPTypes
import PageTesting
import Testing

struct OriginContentTests {
  static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
  let content = OriginContent(
    Array("0123456789".utf8), contentType: "text/javascript", etag: "\"v1\"", lastModified: date,
    headers: [.cacheControl: "no-cache", .contentLanguage: "en"])

  private func status(_ fields: HTTPFields, _ method: HTTPRequest.Method = .get) -> Int {
    content.response(to: method, fields).status.code
  }

  @Test(
    "If-None-Match compares weakly",
    arguments: [
      ("\"v1\"", 304), ("W/\"v1\"", 304), ("*", 304), ("\"v0\", \"v1\"", 304), ("\"v0,\" , W/\"v1\"", 304),
      ("\"v2\"", 200), ("\"v\"", 200), ("v1", 200), ("", 200),
    ])
  func ifNoneMatch(_ tags: String, _ expected: Int) {
    #expect(status([.ifNoneMatch: tags]) == expected)
    #expect(status([.ifNoneMatch: tags], .head) == expected)
  }

  @Test(
    "If-Modified-Since matches the exact date only",
    arguments: [(date, 304), ("Mon, 07 Nov 1994 08:49:37 GMT", 200), ("yesterday", 200)])
  func ifModifiedSince(_ date: String, _ expected: Int) {
    #expect(status([.ifModifiedSince: date]) == expected)
  }

  @Test("If-None-Match takes precedence over If-Modified-Since")
  func bothConditions() {
    #expect(status([.ifNoneMatch: "\"v2\"", .ifModifiedSince: Self.date]) == 200)
  }

  @Test("without validators no response is a 304")
  func noValidators() {
    let plain = OriginContent([1], contentType: "a/b")
    #expect(plain.response(to: .get, [.ifNoneMatch: "\"v1\"", .ifModifiedSince: Self.date]).status == .ok)
  }

  @Test("a 304 has the fields that a cache needs, and none of the content")
  func notModifiedFields() {
    let response = content.response(to: .get, [.ifNoneMatch: "\"v1\""])
    #expect(response.headers == [.eTag: "\"v1\"", .lastModified: Self.date, .cacheControl: "no-cache"])
    #expect(response.body.isEmpty)
  }

  @Test(
    "a range is answered with its bytes",
    arguments: [
      ("bytes=2-", "bytes 2-9/10", "23456789"), ("bytes=2-4", "bytes 2-4/10", "234"),
      ("bytes=-3", "bytes 7-9/10", "789"), ("bytes=8-99", "bytes 8-9/10", "89"),
      ("bytes=-99", "bytes 0-9/10", "0123456789"), ("Bytes=0-0", "bytes 0-0/10", "0"),
    ])
  func range(_ range: String, _ contentRange: String, _ text: String) {
    let response = content.response(to: .get, [.range: range])
    #expect(response.status == .partialContent)
    #expect(response.headers[.contentRange] == contentRange)
    #expect(response.headers[.eTag] == "\"v1\"")
    #expect(response.body == Array(text.utf8))
  }

  @Test("a range outside the content is not satisfiable", arguments: ["bytes=10-", "bytes=10-11", "bytes=-0"])
  func rangeOutside(_ range: String) {
    let response = content.response(to: .get, [.range: range])
    #expect(response.status == .rangeNotSatisfiable)
    #expect(response.headers[.contentRange] == "bytes */10")
  }

  @Test(
    "an invalid or unknown range is ignored",
    arguments: [
      "bytes=4-2", "bytes=", "bytes=-", "bytes=a-b", "bytes=1-2,4-5", "lines=1-2", "bytes 1-2", "bytes=+1-2",
      "bytes=1-99999999999999999999",
    ])
  func unknownRange(_ range: String) {
    #expect(status([.range: range]) == 200)
  }

  @Test("only GET has ranges")
  func rangeWithHead() {
    #expect(status([.range: "bytes=2-"], .head) == 200)
  }

  @Test(
    "If-Range compares strongly",
    arguments: [
      ("\"v1\"", 206), (date, 206), ("W/\"v1\"", 200), ("\"v2\"", 200), ("Mon, 07 Nov 1994 08:49:37 GMT", 200),
    ])
  func ifRange(_ validator: String, _ expected: Int) {
    #expect(status([.range: "bytes=2-", .ifRange: validator]) == expected)
  }

  @Test("a weak entity tag permits no range")
  func weakEntityTag() {
    let weak = OriginContent([1, 2, 3], contentType: "a/b", etag: "W/\"v1\"")
    #expect(weak.response(to: .get, [.range: "bytes=1-", .ifRange: "W/\"v1\""]).status == .ok)
  }

  @Test("an empty content has no satisfiable range")
  func emptyContent() {
    let empty = OriginContent([], contentType: "a/b")
    #expect(empty.response(to: .get, [.range: "bytes=0-"]).status == .rangeNotSatisfiable)
    #expect(empty.response(to: .get, [.range: "bytes=-1"]).status == .rangeNotSatisfiable)
  }

  @Test("other methods are answered with 405", arguments: [HTTPRequest.Method.post, .put, .delete])
  func otherMethods(_ method: HTTPRequest.Method) {
    let response = content.response(to: method, [:])
    #expect(response.status == .methodNotAllowed)
    #expect(response.headers[.allow] == "GET, HEAD")
  }

  @Test("given fields replace those of the origin")
  func givenFields() {
    let content = OriginContent([1], contentType: "a/b", headers: [.contentType: "c/d", .acceptRanges: "none"])
    #expect(content.response(to: .get, [:]).headers == [.contentType: "c/d", .acceptRanges: "none"])
  }
}
