import Dispatch
import HTTPCaching
import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

@testable import CurlTransport

/// The cookies that a jar selects for a request.
@Suite(.timeLimit(.minutes(2)))
struct CookieSelectionTests {
  /// A cookie `n` with these attributes; `site` begins with a dot for a domain cookie.
  private func cookie(_ site: String, path: String = "/", secure: Bool = false, expires: Int64 = 0) throws
    -> StoredCookie
  {
    let fields = [
      site, site.hasPrefix(".") ? "TRUE" : "FALSE", path, secure ? "TRUE" : "FALSE", String(expires), "n", "v",
    ]
    return try #require(StoredCookie(line: Array(fields.joined(separator: "\t").utf8)))
  }

  private func isSent(_ cookie: StoredCookie, to url: String, now: Int64 = 0) throws -> Bool {
    let page = try #require(PageURL(url))
    let target = try #require(CookieTarget(page))
    return [cookie].header(for: target, now: now) == "n=v"
  }

  @Test(
    "a cookie is sent to its hosts",
    arguments: [
      ("a.test", "http://a.test/", true), ("a.test", "http://A.Test:8080/", true), ("A.test", "http://a.test/", true),
      ("a.test", "http://b.a.test/", false), (".a.test", "http://a.test/", true),
      (".a.test", "http://c.b.a.test/", true),
      (".a.test", "http://ba.test/", false), (".a.test", "http://test/", false), (".b.a.test", "http://a.test/", false),
      (".localhost", "http://localhost/", true), (".localhost", "http://app.localhost/", false),
      ("127.0.0.1", "http://127.0.0.1:1/", true), (".0.0.1", "http://127.0.0.1/", false),
      ("::1", "http://[::1]:8080/", true), ("::1", "http://[::2]/", false),
    ])
  func hosts(site: String, url: String, isExpected: Bool) throws {
    #expect(try isSent(cookie(site), to: url) == isExpected)
  }

  @Test(
    "a cookie is sent to URLs below its path",
    arguments: [
      ("/", "/", true), ("/", "/a/b", true), ("/a", "/a", true), ("/a", "/a?b", true), ("/a", "/a/", true),
      ("/a", "/ab", false), ("/a/", "/a", true), ("/a/", "/a/b", true), ("/a/b", "/a", false), ("/a", "/A", false),
      ("", "/a", true), ("\"/a\"", "/a/b", true), ("\"/a\"", "/b", false), ("a", "/b", true), ("/a", "/?/a", false),
    ])
  func paths(path: String, requested: String, isExpected: Bool) throws {
    #expect(try isSent(cookie("a.test", path: path), to: "http://a.test\(requested)") == isExpected)
  }

  @Test(
    "a secure cookie is sent over TLS and to this computer",
    arguments: [
      ("a.test", "https://a.test/", true), ("a.test", "http://a.test/", false), ("a.test", "http://a.test:443/", false),
      ("localhost", "http://localhost:80/", true), ("127.0.0.1", "http://127.0.0.1/", true),
      ("127.0.0.2", "http://127.0.0.2/", false), ("::1", "http://[::1]/", true),
      ("app.localhost", "http://app.localhost/", false),
    ])
  func secureCookies(site: String, url: String, isExpected: Bool) throws {
    #expect(try isSent(cookie(site, secure: true), to: url) == isExpected)
  }

  @Test("a cookie is sent until its last second has passed")
  func expiry() throws {
    let cookie = try cookie("a.test", expires: 100)
    #expect(try isSent(cookie, to: "http://a.test/", now: 100))
    #expect(try !isSent(cookie, to: "http://a.test/", now: 101))
    #expect(try isSent(self.cookie("a.test"), to: "http://a.test/", now: .max))
  }

  @Test func aFileURLHasNoCookies() throws {
    let url = try #require(PageURL("file:///a"))
    #expect(CookieTarget(url) == nil)
    #expect(try CookieJar().cookieHeader(for: url) == nil)
  }

  @Test("a cookie's line is read as it was written")
  func lines() throws {
    let line = "#HttpOnly_.a.test\tTRUE\t/x\tTRUE\t77\tn\t"
    let cookie = try #require(StoredCookie(line: Array(line.utf8)))
    #expect(cookie.isHTTPOnly && cookie.includesSubdomains && cookie.isSecure)
    #expect(String(decoding: cookie.line, as: UTF8.self) == line)
  }

  @Test("an expired cookie is removed")
  func expiredCookie() async throws {
    let (transport, jar) = (try CurlTransport(), try CookieJar())
    try await FaultOrigin.running { origin in
      origin.set(["a=1; Max-Age=100", "b=1"], at: "/set")
      _ = try await transport.answer(to: origin.request("/set", cookies: jar))
      let url = try origin.pageURL("/")
      #expect(jar.cookieHeader(for: url) == "b=1; a=1")
      #expect(jar.cookieHeader(for: url, now: .max) == "b=1")
    }
  }

  @Test("several threads may fill and empty one share")
  func simultaneousThreads() throws {
    let share = try CookieShare()
    let cookies = try (0..<20).map { number in
      try #require(StoredCookie(line: Array("a.test\tFALSE\t/\tFALSE\t0\tc\(number)\tv".utf8)))
    }
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<200 {
        _ = share.add(cookies)
        share.removeAll()
      }
    }
    share.removeAll()
    #expect(share.add(cookies) == cookies)
  }

  /// Cookies in the order in which they are set, at `/dir/set`.
  static let tables: [[String]] = [
    ["a=1", "b=2; Path=/", "c=3; Path=/dir/sub", "d=4; Path=/dir/", "dd=5; Path=\"/dir\"", "e=; Path=", "f=6; Path=x"],
    ["a=1", "a=2; Path=/", "a=3; Path=/dir/sub/", "A=4", "a=5; Path=/", "longer=1", "s=1; Secure"],
    [
      "a=1; Domain=127.0.0.1", "b=2; Domain=0.0.1", "c=3; Domain=other.test", "=4", "d", "=; Path=/", "e=5=6; HttpOnly",
    ],
    ["__Host-a=1; Path=/; Secure", "__Host-b=1; Path=/dir; Secure", "__Secure-c=1", "__Secure-d=1; Secure"],
    ["a=1; Max-Age=0", "b=2; Max-Age=99999999999999999999", "c=3; Expires=garbage", "d=4; expires=0; max-age=50"],
    ["a = 1 ", " b=\"2; 3\"", "c=x\ty", "d=1,2", "e=ü%20", "f=1;path=/dir;PATH=/"],
    (0..<49).map { "c\($0)=\($0); Path=/\($0 % 3 == 0 ? "" : "dir")" },
    ["a=\(String(repeating: "x", count: 4094))", "b=\(String(repeating: "y", count: 4080))", "c=z"],
  ]

  @Test("the header is the one that the server receives", arguments: tables)
  func header(cookies: [String]) async throws {
    let (transport, jar) = (try CurlTransport(), try CookieJar())
    try await FaultOrigin.running { origin in
      origin.set(cookies, at: "/dir/set")
      _ = try await transport.answer(to: origin.request("/dir/set", cookies: jar))
      for host in ["127.0.0.1", "localhost"] {
        for path in ["/", "/dir", "/dir/", "/dir/a?b/c", "/dir/sub", "/dir/sub/x", "/direct", "/x", "/?q=/dir"] {
          let header = jar.cookieHeader(for: try origin.pageURL(path, host: host))
          _ = try await transport.answer(to: origin.request(path, host: host, cookies: jar))
          let sent = origin.cookies.last ?? []
          #expect(sent.map { Array($0.utf8) } == (header.map { [$0.opaqueBytes] } ?? []), "\(host)\(path)")
        }
      }
    }
  }

  @Test(
    "a long URL damages no field",
    arguments: [10, 3400, 3500, 5000, 8000, 8085, 8095, 8100, 8110, 8120, 8130, 8200, 20_000])
  func longURL(size: Int) async throws {
    let (transport, jar) = (try CurlTransport(), try CookieJar())
    try await FaultOrigin.running { origin in
      origin.set(["a=1; Path=/", "c=\(String(repeating: "x", count: 50))"], at: "/set")
      _ = try await transport.answer(to: origin.request("/set", cookies: jar))
      origin.respond("/get") { _ in OriginResponse(headers: .settingCookies(["b=1"])) }
      let path = "/get?" + String(repeating: "x", count: size)
      let header = jar.cookieHeader(for: try origin.pageURL(path))
      _ = try await transport.answer(to: origin.request(path, cookies: jar))
      #expect(origin.cookies.last == (header.map { [$0] } ?? []))
      #expect(origin.requests.last?.headers[values: .userAgent] == ["PageKit"])
      #expect((header == nil) == (size > 8050), "\(size)")
      #expect(jar.cookieHeader(for: try origin.pageURL("/"))?.hasPrefix("b=1; ") == true)
    }
  }

  /// libcurl limits the number of cookies and the size of the head.
  @Test("the header has libcurl's limits", arguments: [0] + Array(3970...4020))
  func limits(size: Int) async throws {
    let (transport, jar) = (try CurlTransport(), try CookieJar())
    try await FaultOrigin.running { origin in
      origin.respond("/*") { request in
        let many = (0..<40).map { "\(request.path.dropFirst())\($0)=\($0)" }
        let long = ["aaaaa=\(String(repeating: "x", count: 4090))", "bbbb=\(String(repeating: "y", count: size))"]
        return OriginResponse(
          headers: .settingCookies(request.path == "/e" ? [] : size == 0 ? many : long + ["c=1", "d=2"]))
      }
      for path in size == 0 ? ["/a", "/b", "/c", "/d", "/e"] : ["/a", "/e"] {
        _ = try await transport.answer(to: origin.request(path, cookies: jar))
      }
      let header = try #require(jar.cookieHeader(for: try origin.pageURL("/e")))
      // Comparing the cookies themselves would print them on a failure.
      #expect(origin.cookies.last?.map(\.utf8.count) == [header.utf8.count])
      #expect(origin.cookies.last?.map { $0.split(separator: "=").count } == [header.split(separator: "=").count])
    }
  }
}

extension String {
  /// One byte for each character.
  fileprivate var opaqueBytes: [UInt8] { unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
}
