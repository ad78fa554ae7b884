import HTTPCaching
import HTTPTypes
import RawStructuredFieldValues
import Testing

/// RFC 9211.
struct CacheStatusTests {
  @Test(
    "the parameters are written in order",
    arguments: [
      (CacheStatus(.hit), "PageKit; hit"), (CacheStatus(.hit, timeToLive: 376), "PageKit; hit; ttl=376"),
      (CacheStatus(.hit, timeToLive: -412), "PageKit; hit; ttl=-412"),
      (CacheStatus(.forwarded(.notStored)), "PageKit; fwd=uri-miss"),
      (CacheStatus(.forwarded(.stale), forwardStatus: 304), "PageKit; fwd=stale; fwd-status=304"),
      (
        CacheStatus(cache: "Example", .forwarded(.variant), isStored: true, isCollapsed: true, detail: "MEMORY"),
        "Example; fwd=vary-miss; stored; collapsed; detail=MEMORY"
      ),
      (CacheStatus(.generated), "PageKit"), (CacheStatus(.generated, detail: "busy"), "PageKit; detail=busy"),
      // §2.3, §2.5, §2.6: these only mean something where the request was forwarded.
      (CacheStatus(.hit, forwardStatus: 200, isStored: true, isCollapsed: true), "PageKit; hit"),
    ])
  func parameters(_ status: CacheStatus, _ value: String) {
    #expect(status.description == value)
  }

  /// RFC 9211 §2: a token or a string.
  @Test(
    "a cache name that is not a token is quoted",
    arguments: [
      ("cache-3.example.com:80/a", "cache-3.example.com:80/a"), ("*", "*"),
      ("CDN Company Here", "\"CDN Company Here\""),
      ("3rd", "\"3rd\""), ("a\"b\\c", #""a\"b\\c""#), ("", "\"\""), ("a,b;c", "\"a,b;c\""), ("é\r\n", "\"???\""),
    ])
  func quotedNames(_ name: String, _ written: String) {
    #expect(CacheStatus(cache: name, .hit).description == "\(written); hit")
    #expect(CacheStatus(.hit, detail: name).description == "PageKit; hit; detail=\(written)")
  }

  @Test(
    "the value is a structured field", arguments: ["x", "CDN Company Here", "a\"b", "é", ""], [Int64.min, -1, 0, .max])
  func structuredField(_ name: String, _ seconds: Int64) throws {
    let status = CacheStatus(
      cache: name, .forwarded(.asked), forwardStatus: 304, timeToLive: seconds, isStored: true, detail: name)
    var parser = StructuredFieldValueParser(Array(status.description.utf8))
    let list = try parser.parseListFieldValue()
    #expect(list.count == 1)
  }

  /// §2: in the order of the caches that a response came through.
  @Test("the member is appended after those of other caches")
  func appended() throws {
    let name = try #require(HTTPField.Name("Cache-Status"))
    let fields = CacheStatus(.hit).added(to: [name: "Origin; fwd=method", .eTag: "\"v\""])
    #expect(fields[values: name] == ["Origin; fwd=method", "PageKit; hit"])
    #expect(fields[.eTag] == "\"v\"")
  }
}
