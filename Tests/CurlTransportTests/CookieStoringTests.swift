import CurlTransport
import HTTPTransport
import PageTesting
import Testing

/// Cookie stores other than libcurl's.
@Suite(.timeLimit(.minutes(2)))
struct CookieStoringTests {
  @Test("another store's cookies are sent, and it gets the response's")
  func otherStore() async throws {
    let transport = try CurlTransport()
    let store = NotingCookies(sending: "x=1; y=2")
    try await FaultOrigin.running { origin in
      origin.set(["a=1", "b=2; Path=/"], at: "/set")
      _ = try await transport.answer(to: origin.request("/set?q", cookies: store))
      _ = try await transport.answer(to: origin.request("/get", cookies: store))
      #expect(origin.cookies == [["x=1; y=2"], ["x=1; y=2"]])
      #expect(store.asked == [origin.url(for: "/set?q"), origin.url(for: "/get")])
      #expect(store.received == [[origin.url(for: "/set?q"), "a=1", "b=2; Path=/"]])
    }
  }

  @Test("a request's own cookies replace another store's")
  func ownCookies() async throws {
    let transport = try CurlTransport()
    let store = NotingCookies(sending: "x=1")
    try await FaultOrigin.running { origin in
      origin.set(["a=1"], at: "/set")
      _ = try await transport.answer(to: origin.request("/set", own: "own=1", cookies: store))
      #expect(origin.cookies == [["own=1"]])
      #expect(store.received.count == 1)
    }
  }

  @Test(arguments: [nil, ""])
  func aStoreWithoutCookiesSendsNoField(header: String?) async throws {
    let transport = try CurlTransport()
    try await FaultOrigin.running { origin in
      _ = try await transport.answer(to: origin.request("/a", cookies: NotingCookies(sending: header)))
      #expect(origin.cookies == [[]])
    }
  }
}
