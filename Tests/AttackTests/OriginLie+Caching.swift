import Foundation
import HTTPTransport

// MARK: - How long an answer may be used. RFC 9111

extension OriginLie {
  private static func control(
    _ name: String, _ value: String, _ gateway: Outcome, loader: Outcome? = nil
  ) -> OriginLie {
    whole("Cache-Control with \(name)", "Cache-Control: \(value)", gateway, loader: loader)
  }

  static let control: [OriginLie] = [
    control("a time in quotes", "max-age=\"600\"", .kept()),
    control("a time in single quotes", "max-age='600'", .passed()),
    control("a negative time", "max-age=-1", .passed()),
    control("a time with a plus", "max-age=+600", .passed()),
    control("a fraction", "max-age=600.5", .passed()),
    control("an exponent", "max-age=6e2", .passed()),
    control("NaN", "max-age=NaN", .passed()),
    control("a time in hexadecimal", "max-age=0x600", .passed()),
    control("a time in Arabic digits", "max-age=\u{666}\u{660}", .passed()),
    control("a unit", "max-age=600s", .passed()),
    control("a time beyond 64 bits", "max-age=99999999999999999999999", .kept()),
    control("zeros before the time", "max-age=000600", .kept()),
    control("no time", "max-age", .passed()),
    control("an empty time", "max-age=", .passed()),
    control("a space behind the equals sign", "max-age= 600", .passed()),
    control("a space before the equals sign", "max-age =600", .passed()),
    control("a semicolon", "max-age=600; private", .passed()),
    control("capitals", "MAX-AGE=600", .kept()),
    control("a time in quotes that do not end", "max-age=\"600", .passed()),
    control("a short time before a long one", "max-age=0, max-age=600", .passed()),
    control("a long time before a short one", "max-age=600, max-age=0", .kept()),
    control("a time of shared caches that is none", "s-maxage=x, max-age=600", .passed(), loader: .kept()),
    control("a time for shared caches alone", "s-maxage=600, max-age=0", .kept(), loader: .passed()),
    control("the longest time and no-store", "max-age=600, no-store", .passed()),
    control("no-store with an argument", "max-age=600, no-store=0", .passed()),
    control("no-store in the quotes of another directive", "max-age=600, x=\"no-store\"", .kept()),
    control("no-store behind quotes that do not end", "max-age=600, x=\"y, no-store", .kept()),
    control("no-store behind an escaped quote", "max-age=600, x=\"\\\", no-store", .kept()),
    control("no-store behind a name that is no token", "max-age=600, @@, no-store", .passed()),
    control("no-store in a word", "max-age=600, xno-store, no-storex", .kept()),
    control("no-cache", "max-age=600, no-cache", .passed()),
    control("no-cache for no field", "max-age=600, no-cache=\"\"", .passed()),
    control("no-cache for a field that is none", "max-age=600, no-cache=\"a b;c\"", .passed()),
    control("no-cache for a field that is there", "max-age=600, no-cache=\"x-none\"", .kept()),
    control("private", "max-age=600, private", .passed(), loader: .kept()),
    control("public and private", "public, max-age=600, private", .passed(), loader: .kept()),
    control("private for a field", "max-age=600, private=\"x-none\"", .kept()),
    control("private in both forms", "max-age=600, private=\"x-none\", private", .passed(), loader: .kept()),
    control("must-understand, and a status that is understood", "max-age=600, must-understand, no-store", .kept()),
    control("100,000 commas", "max-age=600\(String(repeating: ",", count: 90_000))", .kept()),
    control(
      "10,000 directives", "\((0..<9_000).map { "x\($0)=y" }.joined(separator: ",")), max-age=600", .kept()),
    whole(
      "Cache-Control twice, where the second forbids",
      "Cache-Control: public, max-age=600\r\nCache-Control: no-store", .passed()),
    raw(
      "must-understand, and a status that is not understood",
      "HTTP/1.1 299 Odd\r\nCache-Control: max-age=600, must-understand\r\nContent-Length: 3\r\n\r\nabc", .passed(299)),
    whole("Pragma in an answer", "\(fresh)\r\nPragma: no-cache", .kept()),
    whole("a Surrogate-Control of somebody else", "\(fresh)\r\nSurrogate-Control: no-store", .kept()),
    whole("a warning that it is stale", "\(fresh)\r\nWarning: 110 - \"stale\", 199 x", .kept()),
  ]

  static let ages: [OriginLie] = [
    whole("an age above its time", "\(fresh)\r\nAge: 601", .passed()),
    whole("a negative age", "\(fresh)\r\nAge: -601", .kept()),
    whole("an age that is no number", "\(fresh)\r\nAge: NaN", .kept()),
    whole("a fraction of an age", "\(fresh)\r\nAge: 601.5", .kept()),
    whole("an age beyond 64 bits", "\(fresh)\r\nAge: 99999999999999999999999", .passed()),
    whole("an empty age", "\(fresh)\r\nAge:", .kept()),
    whole("two ages, the first above its time", "\(fresh)\r\nAge: 601\r\nAge: 0", .passed()),
    whole("two ages, the second above its time", "\(fresh)\r\nAge: 0\r\nAge: 601", .kept()),
    whole("a list of ages", "\(fresh)\r\nAge: 601, 0", .passed()),
    whole("the longest time and the longest age", "Cache-Control: max-age=2147483648\r\nAge: 2147483648", .passed()),
    whole("a date in the future", "\(fresh)\r\nDate: Fri, 01 Jan 2100 00:00:00 GMT", .kept()),
    whole("a date long ago", "\(fresh)\r\nDate: Sat, 01 Jan 2000 00:00:00 GMT", .passed()),
    whole("a date that is none", "\(fresh)\r\nDate: yesterday", .kept()),
    whole("a date of a day that there is not", "\(fresh)\r\nDate: Sat, 31 Feb 2000 00:00:00 GMT", .kept()),
    whole("a date of a year beyond 9999", "\(fresh)\r\nDate: Sat, 01 Jan 99999 00:00:00 GMT", .kept()),
    whole("a date in another zone", "\(fresh)\r\nDate: Sat, 01 Jan 2000 00:00:00 +0100", .kept()),
    whole("a date in seconds", "\(fresh)\r\nDate: 946684800", .kept()),
    whole(
      "two dates, of which one is long ago",
      "\(fresh)\r\nDate: Sat, 01 Jan 2000 00:00:00 GMT\r\nDate: Sat, 01 Jan 2000 00:00:01 GMT", .kept()),
    whole("a date long ago, of RFC 850", "\(fresh)\r\nDate: Saturday, 01-Jan-00 00:00:00 GMT", .passed()),
    whole("a date long ago, of asctime", "\(fresh)\r\nDate: Sat Jan  1 00:00:00 2000", .passed()),
    whole("Expires of 0", "Expires: 0", .passed()),
    whole("Expires of -1", "Expires: -1", .passed()),
    whole("Expires that is no date", "Expires: never", .passed()),
    whole("Expires in the future", "Expires: Fri, 01 Jan 2100 00:00:00 GMT", .kept()),
    whole(
      "Expires before Date, both in the future",
      "Date: Fri, 01 Jan 2100 00:00:01 GMT\r\nExpires: Fri, 01 Jan 2100 00:00:00 GMT", .passed()),
    whole(
      "Expires of the same time as Date",
      "Date: Fri, 01 Jan 2100 00:00:00 GMT\r\nExpires: Fri, 01 Jan 2100 00:00:00 GMT", .passed()),
    whole(
      "two Expires", "Expires: Fri, 01 Jan 2100 00:00:00 GMT\r\nExpires: Fri, 01 Jan 2100 00:00:00 GMT", .passed()),
    whole("Expires in the past beside a time", "\(fresh)\r\nExpires: 0", .kept()),
    whole(
      "Expires in the future beside no time", "Cache-Control: max-age=0\r\nExpires: Fri, 01 Jan 2100 00:00:00 GMT",
      .passed()),
    whole("a change long ago, and no time", "Last-Modified: Sat, 01 Jan 2000 00:00:00 GMT", .kept()),
    whole("a change in the future, and no time", "Last-Modified: Fri, 01 Jan 2100 00:00:00 GMT", .passed()),
    whole("a change that is no date", "Last-Modified: long ago", .passed()),
    whole("neither a time nor a change", "X: y", .passed()),
    raw(
      "a change long ago of a status that is not kept without a time",
      "HTTP/1.1 302 Found\r\nLast-Modified: Sat, 01 Jan 2000 00:00:00 GMT\r\nContent-Length: 3\r\n\r\nabc",
      .passed(302)),
    raw("an error that is fresh", "HTTP/1.1 503 No\r\n\(fresh)\r\nContent-Length: 3\r\n\r\nabc", .kept(503)),
    raw(
      "an error with the longest Retry-After",
      "HTTP/1.1 503 No\r\nRetry-After: 99999999999999999999\r\nContent-Length: 3\r\n\r\nabc", .passed(503)),
  ]

  static let variants: [OriginLie] = [
    whole("Vary of everything", "\(fresh)\r\nVary: *", .passed()),
    whole("Vary of everything among names", "\(fresh)\r\nVary: accept, *, cookie", .passed()),
    whole("Vary of everything in a second line", "\(fresh)\r\nVary: accept\r\nVary: *", .passed()),
    whole("an empty Vary", "\(fresh)\r\nVary: , ,", .kept()),
    whole("Vary of what is no name", "\(fresh)\r\nVary: a b, (c), \u{E9}", .kept()),
    whole("Vary of a pseudo-field", "\(fresh)\r\nVary: :authority", .kept()),
    whole("Vary of an asterisk in a word", "\(fresh)\r\nVary: *x", .kept()),
    whole(
      "Vary of 1,000 names", "\(fresh)\r\nVary: \((0..<1_000).map { "x\($0)" }.joined(separator: ", "))", .kept()),
    whole(
      "Vary of the same name 10,000 times", "\(fresh)\r\nVary: \(String(repeating: "accept,", count: 10_000))", .kept()),
    steps(
      "Vary that changes",
      ["accept", "cookie", "*"].map {
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=0\r\nVary: \($0)\r\nContent-Length: 3\r\n\r\nabc"
      }, .each(.whole(200, "abc"), .whole(200, "abc"), .whole(200, "abc"), requests: 3)),
  ]

  static let others: [OriginLie] = [
    whole(
      "a cookie for everybody", "Cache-Control: public, max-age=600\r\nSet-Cookie: a=b", .passed(), loader: .kept()),
    whole(
      "a cookie for everybody, for shared caches", "Cache-Control: s-maxage=600\r\nSet-Cookie: a=b", .passed(),
      loader: .passed()),
    whole(
      "a cookie that may not be kept", "Cache-Control: max-age=600, no-cache=\"set-cookie\"\r\nSet-Cookie: a=b",
      .kept()),
    whole("a cookie that Connection names", "\(fresh)\r\nConnection: set-cookie\r\nSet-Cookie: a=b", .kept()),
    whole("a second cookie, of the old kind", "\(fresh)\r\nSet-Cookie2: a=b", .kept()),
    whole(
      "an answer to an authorised request", fresh, .passed(), loader: .kept(), fields: ["Authorization: Basic YTpi"]),
    whole(
      "an answer to an authorised request, for everybody", "Cache-Control: public, max-age=600", .kept(),
      fields: ["Authorization: Basic YTpi"]),
    whole("another server for the same", "\(fresh)\r\nAlt-Svc: h2=\"127.0.0.1:1\"; ma=86400, clear", .kept()),
    whole("another place for the same", "\(fresh)\r\nContent-Location: http://127.0.0.1:1/", .kept()),
    whole("a page that goes on by itself", "\(fresh)\r\nRefresh: 0; url=http://127.0.0.1:1/", .kept()),
    whole("a place of an answer that is no redirect", "\(fresh)\r\nLocation: http://127.0.0.1:1/", .kept()),
    whole(
      "Cache-Status of a cache that there is not", "\(fresh)\r\nCache-Status: renderhost; hit, PageKit; hit", .kept()),
    whole("a way through this gateway", "\(fresh)\r\nVia: 1.1 renderhost, 1.1 renderhost", .kept()),
    whole(
      "secrecy of a connection that has none", "\(fresh)\r\nStrict-Transport-Security: max-age=99999999999", .kept()),
    whole("data that are to be cleared", "\(fresh)\r\nClear-Site-Data: \"*\"", .kept()),
    whole("a part's place in a whole answer", "\(fresh)\r\nContent-Range: bytes 0-2/9", .kept()),
    whole(
      "300 tags", "\(fresh)\r\nCache-Tag: \((0..<300).map { "t\($0)" }.joined(separator: ","))", .passed(),
      loader: .kept()),
    whole(
      "a tag of 5,000 bytes", "\(fresh)\r\nCache-Tag: \(String(repeating: "t", count: 5_000))", .passed(),
      loader: .kept()),
    whole("tags that are none", "\(fresh)\r\nCache-Tag: , ,,", .kept()),
    raw(
      "a condition that fails, though there was none",
      "HTTP/1.1 412 No\r\n\(fresh)\r\nContent-Length: 3\r\n\r\nabc", .passed(412)),
    raw(
      "a range that cannot be satisfied, though there was none",
      "HTTP/1.1 416 No\r\n\(fresh)\r\nContent-Range: bytes */3\r\nContent-Length: 3\r\n\r\nabc", .passed(416)),
    raw(
      "not modified, though nobody asked", "HTTP/1.1 304 Not Modified\r\n\(fresh)\r\nETag: \"a\"\r\n\r\n", .malformed),
    raw(
      "a proxy that asks for a password",
      "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 3\r\n\r\nabc", .passed(407)),
    raw(
      "a success without a body that has one", "HTTP/1.1 204 No\r\nCache-Control: max-age=0\r\n\r\nabc",
      .passed(204, "")),
  ]
}

// MARK: - Parts and validations. RFC 9110 §13, §14

extension OriginLie {
  private static func part(
    _ name: String, _ range: String, _ outcome: Outcome, body: String = "abc"
  ) -> OriginLie {
    raw(
      name,
      "HTTP/1.1 206 Part\r\n\(fresh)\r\nETag: \"a\"\r\n\(range)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)",
      outcome, fields: ["Range: bytes=0-2"])
  }

  private static let first =
    "HTTP/1.1 200 OK\r\n\(fresh)\r\nETag: \"a\"\r\nAccept-Ranges: bytes\r\nContent-Length: 6\r\n\r\nabc"
  /// The first answer breaks off, and the second one is to go on with it.
  private static func rest(_ name: String, _ answers: String..., then seen: Seen, requests: Int) -> OriginLie {
    steps(name, [first] + answers, .each(.cut, seen, requests: requests))
  }

  private static func rest(_ lines: String, _ body: String = "def", status: String = "206 Part") -> String {
    "HTTP/1.1 \(status)\r\n\(fresh)\r\n\(lines)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }
  private static let new = rest("ETag: \"b\"", "uvwxyz", status: "200 OK")

  static let parts: [OriginLie] = [
    part("a part as asked", "Content-Range: bytes 0-2/6", .kept(206)),
    part("a part without its place", "X: y", .passed(206)),
    part("a part that is another one", "Content-Range: bytes 3-5/6", .passed(206)),
    part("a part that ends before its beginning", "Content-Range: bytes 2-0/6", .passed(206)),
    part("a part beyond its whole", "Content-Range: bytes 0-2/2", .passed(206)),
    part("a part whose whole is unknown", "Content-Range: bytes 0-2/*", .kept(206)),
    part("a part of nothing", "Content-Range: bytes */6", .passed(206)),
    part("a part in another unit", "Content-Range: items 0-2/6", .passed(206)),
    part("a part without a unit", "Content-Range: 0-2/6", .passed(206)),
    part("a part with an equals sign", "Content-Range: bytes=0-2/6", .passed(206)),
    part("a part with a negative place", "Content-Range: bytes -0-2/6", .passed(206)),
    part("a part at 2^64", "Content-Range: bytes 18446744073709551616-18446744073709551618/*", .passed(206)),
    part(
      "a part at the end of 63 bits", "Content-Range: bytes 9223372036854775805-9223372036854775807/*", .passed(206)),
    part("a part with two places", "Content-Range: bytes 0-2/6\r\nContent-Range: bytes 3-5/6", .passed(206)),
    part("a part shorter than its place", "Content-Range: bytes 0-5/6", .kept(206)),
    part("a part longer than its place", "Content-Range: bytes 0-1/6", .passed(206)),
    part(
      "parts in one body, though one was asked for", "Content-Type: multipart/byteranges; boundary=x",
      .passed(206, "--x\r\nContent-Range: bytes 0-2/6\r\n\r\nabc\r\n--x--"),
      body: "--x\r\nContent-Range: bytes 0-2/6\r\n\r\nabc\r\n--x--"),
    part("a part of the wrong whole", "Content-Range: bytes 0-2/3", .kept(206)),
    raw(
      "a part that nobody asked for",
      "HTTP/1.1 206 Part\r\n\(fresh)\r\nContent-Range: bytes 0-2/6\r\nContent-Length: 3\r\n\r\nabc", .passed(206)),
    raw(
      "the whole, though a part was asked for", "HTTP/1.1 200 OK\r\n\(fresh)\r\nContent-Length: 3\r\n\r\nabc",
      .each(.whole(200, "abc"), .whole(206, "abc"), requests: 1), fields: ["Range: bytes=0-2"]),
    raw(
      "a range that is said to be beyond the end",
      "HTTP/1.1 416 No\r\n\(fresh)\r\nContent-Range: bytes */1\r\nContent-Length: 0\r\n\r\n", .passed(416, ""),
      fields: ["Range: bytes=0-2"]),

    rest(
      "the rest as asked", rest("ETag: \"a\"\r\nContent-Range: bytes 3-5/6"), then: .whole(200, "abcdef"), requests: 2),
    rest("the whole in the place of the rest", new, then: .whole(200, "uvwxyz"), requests: 2),
    rest(
      "the rest of something else", rest("ETag: \"b\"\r\nContent-Range: bytes 3-5/6"), new, then: .whole(200, "uvwxyz"),
      requests: 3),
    rest("the rest without a tag", rest("Content-Range: bytes 3-5/6"), new, then: .whole(200, "uvwxyz"), requests: 3),
    rest(
      "the rest with a weak tag", rest("ETag: W/\"a\"\r\nContent-Range: bytes 3-5/6"), new, then: .whole(200, "uvwxyz"),
      requests: 3),
    rest("the rest without its place", rest("ETag: \"a\""), new, then: .whole(200, "uvwxyz"), requests: 3),
    rest(
      "a rest that overlaps", rest("ETag: \"a\"\r\nContent-Range: bytes 2-5/6", "cdef"), new,
      then: .whole(200, "uvwxyz"), requests: 3),
    rest(
      "a rest behind a gap", rest("ETag: \"a\"\r\nContent-Range: bytes 4-5/6", "ef"), new, then: .whole(200, "uvwxyz"),
      requests: 3),
    rest(
      "a rest that does not reach the end", rest("ETag: \"a\"\r\nContent-Range: bytes 3-4/6", "de"), new,
      then: .whole(200, "uvwxyz"), requests: 3),
    rest(
      "the rest of a longer whole", rest("ETag: \"a\"\r\nContent-Range: bytes 3-8/9", "defghi"), new,
      then: .whole(200, "uvwxyz"), requests: 3),
    rest(
      "a rest in another encoding", rest("ETag: \"a\"\r\nContent-Encoding: gzip\r\nContent-Range: bytes 3-5/6"), new,
      then: .whole(200, "uvwxyz"), requests: 3),
    rest(
      "no rest", rest("ETag: \"a\"\r\nContent-Range: bytes */3", "", status: "416 No"), new,
      then: .whole(200, "uvwxyz"),
      requests: 3),
    rest(
      "no rest, and no whole either", rest("Content-Range: bytes */3", "", status: "416 No"), then: .whole(416, ""),
      requests: 3),
    rest(
      "nothing new in the place of the rest", "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n", new,
      then: .failed(.malformed), requests: 2),
    rest(
      "a rest that breaks off",
      "HTTP/1.1 206 Part\r\n\(fresh)\r\nETag: \"a\"\r\nContent-Range: bytes 3-5/6\r\nContent-Length: 3\r\n\r\nd",
      then: .cut, requests: 2),
    rest(
      "a rest shorter than its place", rest("ETag: \"a\"\r\nContent-Range: bytes 3-5/6", "d"), then: .cut, requests: 2),
    rest(
      "parts, again and again", rest("ETag: \"c\"\r\nContent-Range: bytes 0-0/6", "a"), then: .whole(206, "a"),
      requests: 3),
  ]

  private static let stale =
    "HTTP/1.1 200 OK\r\nCache-Control: max-age=0\r\nETag: \"a\"\r\nContent-Length: 3\r\n\r\nabc"
  private static let other =
    "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nETag: \"b\"\r\nContent-Length: 3\r\n\r\nxyz"
  private static func unchanged(_ lines: String) -> String { "HTTP/1.1 304 Not Modified\r\n\(lines)\r\n\r\n" }
  /// The first answer is to be validated; what answers the second and the third request.
  private static func validated(
    _ name: String, _ answers: String..., then second: Seen, _ third: Seen, requests: Int, loader: Outcome? = nil
  ) -> OriginLie {
    steps(name, [stale] + answers, .each(.whole(200, "abc"), second, third, requests: requests), loader: loader)
  }
  private static let abc = Seen.whole(200, "abc")
  private static let xyz = Seen.whole(200, "xyz")

  static let validations: [OriginLie] = [
    validated("a 304 with the same tag", unchanged("\(fresh)\r\nETag: \"a\""), then: abc, abc, requests: 2),
    validated("a 304 without a tag", unchanged(fresh), then: abc, abc, requests: 2),
    validated(
      "a 304 with another tag, and then something new", unchanged("ETag: \"b\""), other, then: xyz, xyz, requests: 3),
    validated(
      "a 304 with another tag, again and again", unchanged("ETag: \"b\""), then: abc, abc, requests: 5),
    validated("a 304 with two tags", unchanged("ETag: \"a\"\r\nETag: \"b\""), other, then: abc, xyz, requests: 3),
    validated("a 304 with a weak tag", unchanged("\(fresh)\r\nETag: W/\"a\""), then: abc, abc, requests: 2),
    validated(
      "a 304 with a tag that is none", unchanged("\(fresh)\r\nETag: a"), other, then: xyz, xyz, requests: 3),
    validated(
      "a 304 with a body", unchanged("\(fresh)\r\nETag: \"a\"\r\nContent-Length: 3") + "xyz", then: abc, abc,
      requests: 2),
    validated(
      "a 304 with chunks", unchanged("\(fresh)\r\nETag: \"a\"\r\nTransfer-Encoding: chunked") + "3\r\nxyz\r\n0\r\n\r\n",
      then: abc, abc, requests: 2),
    validated(
      "a 304 with another length", unchanged("\(fresh)\r\nETag: \"a\"\r\nContent-Length: 99"), then: abc, abc,
      requests: 2),
    validated(
      "a 304 with another encoding", unchanged("\(fresh)\r\nETag: \"a\"\r\nContent-Encoding: gzip"), then: abc, abc,
      requests: 2),
    validated(
      "a 304 with a part's place", unchanged("\(fresh)\r\nETag: \"a\"\r\nContent-Range: bytes 0-0/3"), then: abc, abc,
      requests: 2),
    validated(
      "a 304 with another digest",
      unchanged("\(fresh)\r\nETag: \"a\"\r\nRepr-Digest: sha-256=:\(String(repeating: "A", count: 43))=:"), other,
      then: xyz, xyz, requests: 3),
    validated(
      "a 304 that forbids storing", unchanged("Cache-Control: no-store\r\nETag: \"a\""), other, then: abc, xyz,
      requests: 3),
    validated(
      "a 304 that is for one client", unchanged("Cache-Control: private, max-age=600\r\nETag: \"a\""), other,
      then: abc, xyz, requests: 3, loader: .each(abc, abc, abc, requests: 2)),
    validated(
      "a 304 that sets a cookie", unchanged("\(fresh)\r\nETag: \"a\"\r\nSet-Cookie: a=b"), then: abc, abc, requests: 2),
    validated(
      "a 304 that varies by everything", unchanged("\(fresh)\r\nETag: \"a\"\r\nVary: *"), other, then: abc, xyz,
      requests: 3),
    validated(
      "a 304 that makes the answer a redirect", unchanged("\(fresh)\r\nETag: \"a\"\r\nLocation: http://127.0.0.1:1/"),
      then: abc, abc, requests: 2),
    validated(
      "a part in the place of a 304",
      "HTTP/1.1 206 Part\r\n\(fresh)\r\nETag: \"a\"\r\nContent-Range: bytes 0-0/3\r\nContent-Length: 1\r\n\r\na", other,
      then: .whole(206, "a"), xyz, requests: 3),
    validated(
      "a failed condition in the place of a 304", "HTTP/1.1 412 No\r\n\(fresh)\r\nContent-Length: 0\r\n\r\n", other,
      then: .whole(412, ""), xyz, requests: 3),
    validated(
      "other bytes with the same tag",
      "HTTP/1.1 200 OK\r\n\(fresh)\r\nETag: \"a\"\r\nContent-Length: 3\r\n\r\nxyz", then: xyz, xyz, requests: 2),
    validated(
      "half of something new in the place of a 304",
      "HTTP/1.1 200 OK\r\n\(fresh)\r\nETag: \"b\"\r\nContent-Length: 9\r\n\r\nxyz",
      unchanged("\(fresh)\r\nETag: \"a\""), then: .cut, abc, requests: 3),
    validated(
      "an error in the place of a 304", "HTTP/1.1 404 No\r\n\(fresh)\r\nContent-Length: 0\r\n\r\n",
      unchanged("\(fresh)\r\nETag: \"a\""), then: .whole(404, ""), abc, requests: 3),
    validated(
      "garbage in the place of a 304", "garbage", unchanged("\(fresh)\r\nETag: \"a\""), then: abc, abc, requests: 3),
    steps(
      "an error of the server, though what is stored may replace it",
      [
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=0, stale-if-error=600\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
      ], .each(abc, abc, requests: 2)),
    steps(
      "the answer to one tag for a client that has another",
      ["HTTP/1.1 304 Not Modified\r\n\(fresh)\r\nETag: \"b\"\r\n\r\n"], .passed(304, ""),
      fields: ["If-None-Match: \"a\""]),
  ]
}

// MARK: - Encodings and digests. RFC 9110 §8.4, RFC 9530

extension OriginLie {
  private static let packed = Array("abc".utf8).gzipped() ?? []
  private static let bomb = [UInt8](repeating: 65, count: 20 << 20).gzipped() ?? []

  /// - Parameter kept: `true` if it is stored as it came.
  private static func encoded(
    _ name: String, _ coding: String, _ bytes: [UInt8], kept: Bool, loader: Outcome? = nil
  ) -> OriginLie {
    let text = String(decoding: bytes, as: UTF8.self)
    let head = "HTTP/1.1 200 OK\r\n\(fresh)\r\nContent-Encoding: \(coding)\r\nContent-Length: \(bytes.count)\r\n\r\n"
    let gateway = kept ? Outcome.kept(200, text) : .passed(200, text)
    return OriginLie(
      name: name, answers: [Array(head.utf8) + bytes], gateway: gateway, loader: loader ?? gateway)
  }

  static let encodings: [OriginLie] = [
    encoded("an encoding for who accepts none", "gzip", packed, kept: true, loader: .kept()),
    encoded("an encoding in capitals", "X-GZIP", packed, kept: true, loader: .kept()),
    encoded("an encoding that there is not", "zip", Array("abc".utf8), kept: true),
    encoded("an empty encoding", "", Array("abc".utf8), kept: true),
    encoded("no encoding by its name", "identity", Array("abc".utf8), kept: true),
    encoded("text that is said to be gzip", "gzip", Array("abc".utf8), kept: false, loader: .refused(.undecodable)),
    encoded(
      "text that is said to be Brotli", "br", Array("<html>abc".utf8), kept: false, loader: .refused(.undecodable)),
    encoded(
      "text that is said to be Zstandard", "zstd", Array("abcdefgh".utf8), kept: false, loader: .refused(.undecodable)),
    encoded("nothing that is said to be gzip", "gzip", [], kept: false, loader: .refused(.undecodable)),
    encoded("gzip that ends too early", "gzip", packed.dropLast(5), kept: false, loader: .refused(.undecodable)),
    encoded(
      "gzip with a wrong checksum", "gzip", packed.dropLast(8) + [0, 0, 0, 0] + packed.suffix(4), kept: false,
      loader: .refused(.undecodable)),
    encoded(
      "gzip with letters behind it", "gzip", packed + Array("xyz".utf8), kept: false, loader: .refused(.undecodable)),
    encoded("gzip twice in a row", "gzip", packed + packed, kept: true, loader: .kept(200, "abcabc")),
    encoded("gzip once that is said to be so twice", "gzip, gzip", packed, kept: false, loader: .refused(.undecodable)),
    encoded(
      "gzip twice that is said to be so once", "gzip", packed.gzipped() ?? [], kept: true,
      loader: .kept(200, String(decoding: packed, as: UTF8.self))),
    encoded("four encodings", "gzip, gzip, gzip, gzip", packed, kept: true),
    encoded("an encoding with a dictionary that nobody has offered", "dcz", Array("abc".utf8), kept: true),
    encoded("20 MB in 20 KB", "gzip", bomb, kept: true, loader: .refused(.tooLarge)),
    whole(
      "an encoding on a second line", "\(fresh)\r\nContent-Encoding: identity\r\nContent-Encoding: gzip", .passed(),
      loader: .refused(.undecodable)),
  ]

  private static func digest(_ name: String, _ field: String, _ outcome: Outcome) -> OriginLie {
    whole(name, "\(fresh)\r\n\(field)", outcome)
  }

  private static let wrong256 = "\(String(repeating: "A", count: 43))="
  private static let right256 = "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="

  static let digests: [OriginLie] = [
    digest("a right digest", "Content-Digest: sha-256=:\(right256):", .kept()),
    digest("a wrong digest", "Content-Digest: sha-256=:\(wrong256):", .passed()),
    digest("a wrong digest of the whole", "Repr-Digest: sha-256=:\(wrong256):", .passed()),
    digest(
      "a right digest and a wrong one", "Content-Digest: sha-256=:\(right256):, md5=:AAAAAAAAAAAAAAAAAAAAAA==:",
      .passed()),
    digest(
      "a right digest, and then a wrong one", "Content-Digest: sha-256=:\(right256):, sha-256=:\(wrong256):",
      .passed()),
    digest("a digest of an algorithm that there is not", "Content-Digest: crc=:AAAA:", .kept()),
    digest("a digest that is too short", "Content-Digest: sha-256=:AAAA:", .kept()),
    digest("a digest in hexadecimal", "Content-Digest: sha-256=\(String(repeating: "0", count: 64))", .kept()),
    digest("a digest that is no structured field", "Content-Digest: sha-256=:::,,;", .kept()),
    digest("a wrong Content-MD5, which is no field of HTTP any more", "Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==", .kept()),
    raw(
      "a wrong digest of a part",
      "HTTP/1.1 206 Part\r\n\(fresh)\r\nETag: \"a\"\r\nContent-Range: bytes 0-2/6\r\nContent-Digest: sha-256=:\(wrong256):\r\nContent-Length: 3\r\n\r\nabc",
      .passed(206), fields: ["Range: bytes=0-2"]),
  ]
}
