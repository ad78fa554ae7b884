import CurlTransport
import HTTPCaching
import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

@Suite(.timeLimit(.minutes(2)))
struct CookieJarTests {
  private let transport: CurlTransport
  private let jar: CookieJar

  init() throws {
    transport = try CurlTransport()
    jar = try CookieJar()
  }

  @Test func cookiesThatAreSetComeBack() async throws {
    try await FaultOrigin.running { origin in
      origin.set(["a=1", "b=\"x y\"; HttpOnly"], at: "/set")
      _ = try await transport.answer(to: origin.request("/set", cookies: jar))
      _ = try await transport.answer(to: origin.request("/get", cookies: jar))
      #expect(origin.cookies == [[], ["b=\"x y\"; a=1"]])
    }
  }

  @Test("two jars with one file keep each other's cookies")
  func sharedFile() async throws {
    let folder = try TemporaryDirectory()
    let jars = try (0..<2).map { _ in try CookieJar(file: folder.file("cookies.txt")) }
    try await FaultOrigin.running { origin in
      for (index, jar) in jars.enumerated() {
        origin.set(["c\(index)=1; Max-Age=100", "same=\(index); Max-Age=100"], at: "/set")
        _ = try await transport.answer(to: origin.request("/set", cookies: jar))
        try jar.flush()
      }
      origin.set(["c0=; Max-Age=0"], at: "/set")
      _ = try await transport.answer(to: origin.request("/set", cookies: jars[0]))
      try jars[0].flush()
      let url = try origin.pageURL("/get")
      let header = try CookieJar(file: folder.file("cookies.txt")).cookieHeader(for: url) ?? ""
      #expect(Set(header.split(separator: "; ")) == ["c1=1", "same=1"])
    }
  }

  @Test func aCookieIsInTheJarWhenTheHeadIsThere() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/set", SeededContent.bytes(1000), headers: .settingCookies(["a=1"]))
      origin.always("/set", .stall(afterBytes: 10))
      let response = try await transport.send(origin.request("/set", cookies: jar))
      #expect(jar.cookieHeader(for: try origin.pageURL("/get")) == "a=1")
      withExtendedLifetime(response) {}
    }
  }

  @Test("cookies of an interim response are kept even without a final one")
  func interimCookies() async throws {
    try await FaultOrigin.running { origin in
      origin.always("/set", .informational(103, .settingCookies(["a=1"]), then: .closeBeforeHead))
      _ = try await transport.failure(of: origin.request("/set", cookies: jar))
      #expect(jar.cookieHeader(for: try origin.pageURL("/get")) == "a=1")
    }
  }

  @Test("the cookies of a truncated head are kept")
  func truncatedHead() async throws {
    let server = try RawServer(answering: Array("HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX: y".utf8))
    var request = TransportRequest.local(port: server.port, "/set")
    request.cookies = jar
    _ = try await transport.failure(of: request)
    _ = try await transport.failure(of: request)
    let url = try #require(PageURL(request.url))
    #expect(jar.cookieHeader(for: url) == "a=1")
    #expect(
      server.requests.map { String(decoding: $0, as: UTF8.self).contains("\r\nCookie: a=1\r\n") } == [false, true])
  }

  @Test func aCookieGoesToNoOtherHost() async throws {
    try await FaultOrigin.running { origin in
      origin.set(["a=1"], at: "/set")
      _ = try await transport.answer(to: origin.request("/set", cookies: jar))
      _ = try await transport.answer(to: origin.request("/get", host: "localhost", cookies: jar))
      #expect(origin.cookies == [[], []])
      #expect(jar.cookieHeader(for: try origin.pageURL("/get", host: "localhost")) == nil)
    }
  }

  @Test("a domain's cookie is sent to its hosts, a host's cookie to that host only")
  func domains() async throws {
    try await FaultOrigin.running { origin in
      origin.set(["one=1", "all=1; Domain=site.localhost", "no=1; Domain=localhost"], at: "/set")
      _ = try await transport.answer(to: origin.request("/set", host: "app.site.localhost", cookies: jar))
      let hosts = ["app.site.localhost", "site.localhost", "b.site.localhost", "bsite.localhost", "localhost"]
      for host in hosts {
        _ = try await transport.answer(to: origin.request("/get", host: host, cookies: jar))
        #expect(origin.cookies.last?.first == jar.cookieHeader(for: try origin.pageURL("/get", host: host)))
      }
      #expect(origin.cookies.dropFirst() == [["one=1; all=1"], ["all=1"], ["all=1"], [], []])
    }
  }

  @Test func aCookieGoesToItsPathAndBelowIt() async throws {
    try await FaultOrigin.running { origin in
      origin.set(["a=1; Path=/shop", "b=1"], at: "/area/set")
      _ = try await transport.answer(to: origin.request("/area/set", cookies: jar))
      for path in ["/shop", "/shop/", "/shop/a?b", "/shopping", "/Shop", "/area", "/area/x/y", "/"] {
        _ = try await transport.answer(to: origin.request(path, cookies: jar))
      }
      #expect(origin.cookies.dropFirst() == [["a=1"], ["a=1"], ["a=1"], [], [], ["b=1"], ["b=1"], []])
    }
  }

  @Test(arguments: ["Max-Age=0", "Max-Age=-1", "Expires=Thu, 01 Jan 1970 00:00:00 GMT"])
  func aCookieIsDeletedByOneThatHasExpired(attribute: String) async throws {
    try await FaultOrigin.running { origin in
      origin.set(["a=1", "b=1"], at: "/set")
      origin.respond("/delete") { _ in OriginResponse(headers: .settingCookies(["a=; \(attribute)"])) }
      for path in ["/set", "/delete", "/get"] {
        _ = try await transport.answer(to: origin.request(path, cookies: jar))
      }
      #expect(origin.cookies.last == ["b=1"])
      #expect(jar.cookieHeader(for: try origin.pageURL("/get")) == "b=1")
    }
  }

  @Test("an emptied jar sends no cookies and accepts new ones")
  func emptiedJar() async throws {
    try await FaultOrigin.running { origin in
      origin.set(["a=1"], at: "/set")
      _ = try await transport.answer(to: origin.request("/set", cookies: jar))
      jar.removeAll()
      #expect(jar.cookieHeader(for: try origin.pageURL("/get")) == nil)
      for path in ["/get", "/set", "/get"] {
        _ = try await transport.answer(to: origin.request(path, cookies: jar))
      }
      #expect(origin.cookies == [[], [], [], ["a=1"]])
    }
  }

  @Test("two jars do not share cookies")
  func independentJars() async throws {
    let other = try CookieJar()
    try await FaultOrigin.running { origin in
      origin.set(["a=1"], at: "/set")
      _ = try await transport.answer(to: origin.request("/set", cookies: jar))
      _ = try await transport.answer(to: origin.request("/get", cookies: other))
      _ = try await transport.answer(to: origin.request("/get", cookies: jar))
      #expect(origin.cookies == [[], [], ["a=1"]])
      #expect(other.cookieHeader(for: try origin.pageURL("/get")) == nil)
    }
  }

  @Test("a request without a jar has no cookies")
  func requestWithoutJar() async throws {
    try await FaultOrigin.running { origin in
      origin.set(["a=1"], at: "/set")
      _ = try await transport.answer(to: origin.request("/set", cookies: jar))
      for _ in 0..<2 { _ = try await transport.answer(to: origin.request("/set", cookies: nil)) }
      _ = try await transport.answer(to: origin.request("/get", own: "b=1", cookies: nil))
      #expect(origin.cookies == [[], [], [], ["b=1"]])
      #expect(origin.connectionCount == 1)
    }
  }

  @Test("a request's own cookies replace the jar's, and the response's are kept")
  func ownCookies() async throws {
    try await FaultOrigin.running { origin in
      origin.set(["a=1"], at: "/set")
      origin.respond("/own") { _ in OriginResponse(headers: .settingCookies(["b=2"])) }
      _ = try await transport.answer(to: origin.request("/set", cookies: jar))
      for _ in 0..<2 { _ = try await transport.answer(to: origin.request("/own", own: "c=3; d=4", cookies: jar)) }
      _ = try await transport.answer(to: origin.request("/get", cookies: jar))
      #expect(origin.cookies == [[], ["c=3; d=4"], ["c=3; d=4"], ["b=2; a=1"]])
    }
  }

  @Test("an empty Cookie field suppresses the jar's cookies")
  func emptyField() async throws {
    try await FaultOrigin.running { origin in
      origin.set(["a=1"], at: "/set")
      _ = try await transport.answer(to: origin.request("/set", cookies: jar))
      _ = try await transport.answer(to: origin.request("/get", own: "", cookies: jar))
      #expect(origin.cookies == [[], []])
    }
  }

  @Test func twoTransportsFillOneJar() async throws {
    let transports = [transport, try CurlTransport()]
    try await FaultOrigin.running { [jar] origin in
      origin.respond("/*") { request in
        OriginResponse(headers: .settingCookies([request.path.dropFirst() + "=1; Path=/"]))
      }
      let numbers = 100..<240
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in numbers {
          group.addTask {
            _ = try await transports[number % 2].answer(to: origin.request("/c\(number)", cookies: jar))
            _ = jar.cookieHeader(for: try origin.pageURL("/"))
          }
        }
        try await group.waitForAll()
      }
      let header = try #require(jar.cookieHeader(for: try origin.pageURL("/")))
      #expect(Set(header.split(separator: "; ")) == Set(numbers.map { "c\($0)=1" }))
    }
  }

  @Test("a jar lives as long as its transfer")
  func lifetime() async throws {
    try await FaultOrigin.running { [transport] origin in
      origin.serve("/set", SeededContent.bytes(1000), headers: .settingCookies(["a=1"]))
      origin.hold("/set")
      async let answer = transport.answer(to: origin.request("/set", cookies: try CookieJar()))
      try await origin.waitForRequests(1)
      origin.release("/set")
      #expect(try await answer.body.count == 1000)
    }
  }
}
